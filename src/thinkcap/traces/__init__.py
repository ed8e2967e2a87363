"""Generations stored once, as token ids, without a budget in the key; a smaller budget is a cut.

Doors: `store.Store` (one SQLite file), `remember.Remembering` (an engine around an engine that asks the store
first), `exchange` (export and import), `lock` (one writer). Imports go to `core` alone.
"""
