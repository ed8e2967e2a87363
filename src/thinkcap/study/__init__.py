"""The runner: a plan becomes cells, cells become rows, and a rerun does only what is missing.

Doors: `config.StudyConfig` (what to run), `run.run` (run it), `rows` (what came out), `folders` and `listing`
(where it lies), `regrade`. Nothing here compares two cells; that is `diagnose`.
"""
