"""Statistics under stable, documented names: what `thinkcap diagnose --json` carries in `statistics`.

One module a kind of record; each turns arms into a flat table of names and values. The names are part of the
product's contract (docs/diagnosis.md lists them), so nothing here computes: numbers come from
`thinkcap.statistics`.
"""

from __future__ import annotations

from thinkcap.paper.statistics.all import statistics

__all__ = ["statistics"]
