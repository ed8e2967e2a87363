"""Where to spend the tokens: per question, per cap, and when to stop; each judged on questions it never saw."""
