"""One line per figure: what was printed, what comes out when it is computed again, and whether they agree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Data = Mapping[str, Any]


@dataclass(frozen=True)
class AuditEntry:
    name: str
    published: Any
    recomputed: Any
    status: str
    """agrees, rounding, disagrees, derived (nothing was printed)."""
    why: str = ""


@dataclass
class Ledger:
    """Collects entries; agreement is decided here, by the digits that were printed."""

    entries: list[AuditEntry] = field(default_factory=list)

    def add(
        self,
        name: str,
        published: Any,
        value: Any,
        *,
        within: float | None = None,
        why: str = "",
        status: str = "",
    ) -> None:
        """`within` widens the half unit of the last printed digit where inputs were themselves rounded."""
        if not status:
            status = (
                "derived" if published is None else "agrees" if _close(published, value, within) else "disagrees"
            )
        self.entries.append(AuditEntry(name, published, value, status, why))

    def find(self, name: str) -> AuditEntry:
        return next(e for e in self.entries if e.name == name)


def _close(published: Any, value: Any, within: float | None) -> bool:
    if isinstance(published, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(published)
            and all(_close(p, v, within) for p, v in zip(published, value, strict=True))
        )
    if isinstance(value, (list, tuple)) and isinstance(published, (int, float)):
        # A range: an undefined part may be anything.
        slack = _half_unit(published) if within is None else within
        return bool(min(value) - slack <= published <= max(value) + slack)
    if not isinstance(published, (int, float)) or not isinstance(value, (int, float)):
        return bool(published == value)
    return bool(abs(published - value) <= (_half_unit(published) if within is None else within) * (1 + 1e-9))


def _half_unit(printed: float) -> float:
    """Half of the last digit of a figure as it was printed: 56.9 -> 0.05, 6.1e-09 -> 5e-11."""
    mantissa, _, exponent = f"{printed!r}".partition("e")
    decimals = len(mantissa.partition(".")[2]) if "." in mantissa and not mantissa.endswith(".0") else 0
    if mantissa.endswith(".0"):
        decimals = 1
    return float(0.5 * 10.0 ** (int(exponent or 0) - decimals))


def load(path: Path) -> dict[str, Data]:
    """The published figures by id."""
    return {entry["id"]: entry["data"] for entry in json.loads(path.read_text())}


def rows(data: Data) -> list[dict[str, Any]]:
    return [dict(zip(data["columns"], row, strict=True)) for row in data["rows"]]


def count(percent: float, n: int) -> int:
    """The count behind a printed percentage."""
    return round(percent * n / 100)
