"""Which arms can be compared, how they compare, and what else their rows say: findings, not sentences.

`diagnosis.diagnose(records)` is the door, `pairs` the only place where two arms are compared, `document` the JSON.
Others import: `diagnosis`, `findings`, `document`, `pairs`, `passes`, `runs`, `routes`, `escalation`, `summary`,
`traffic`, `simulating`, `shadow`, `labelled`, `candidates`;
`verdict` alone also reads the findings of `gates`, `splitting`, `totals` and `transfer`.
"""
