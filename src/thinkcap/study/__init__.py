"""The runner: a plan becomes cells, cells become rows, and a rerun does only what is missing.

Doors: `config.StudyConfig` and `options` (what to run), `run.run` (run it), `rows`, `times` and `questions` (what
came out), `folders` and `listing` (where it lies), `regrade`. Nothing here compares two cells; that is `diagnose`.
"""
