"""Where to spend the tokens: per question, per cap, and when to stop; each judged on questions it never saw.

`file` is the door: `Allocation`, which `calibrate` writes and the policies `auto` and `stop` read. `split`,
`stop_fit`, `fit` and `envelope` fit it from arrays; imports go to `core`, `statistics` and `settings`.
"""
