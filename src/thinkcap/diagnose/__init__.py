"""Which arms can be compared, how they compare, and what else their rows say: findings, not sentences.

`diagnosis.diagnose(records)` is the door. `pairs` is the only place where two arms are compared; `findings`
holds what was found, as frozen values that `verdict`, `report` and `calibrate` read. `summary` makes a run's
summary.json.
"""
