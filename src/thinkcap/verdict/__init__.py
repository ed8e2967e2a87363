"""Findings into words: a headline, advice and sentences that a person reads.

Nothing is computed here that another room would need; every number comes from `diagnose`.
Others import: `say` (the sentences), `page` (the printed text and the JSON), `runs` (what a run was made on),
`traffic` (what requests without golds show), `words` (how numbers are said).
"""
