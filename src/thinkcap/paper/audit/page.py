"""Recompute the published figures of the paper with the product's own estimators and list what disagrees.

    thinkcap paper --audit --published PUBLISHED.json [FOLDER]

PUBLISHED.json holds the printed figures by id; FOLDER the authors' per-sample records.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.paper.audit import claims, from_records, passes, runs, tables
from thinkcap.paper.audit.ledger import AuditEntry, Data, Ledger, load

_MISSHAPEN = (KeyError, IndexError, TypeError, AttributeError, ValueError, StopIteration)


def _recomputed(paper: dict[str, Data]) -> list[AuditEntry]:
    book = Ledger()
    for part in (tables, claims, passes, runs):
        part.audit(paper, book)
    return book.entries


def _said(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        return ", ".join(f"{k}: {_said(v)}" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_said(v) for v in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _table(entries: list[AuditEntry]) -> list[str]:
    lines = ["| figure | printed | recomputed | why |", "|---|---|---|---|"]
    for e in entries:
        cells = (e.name, _said(e.published), _said(e.recomputed), e.why)
        lines.append("| " + " | ".join(c.replace("|", "/") for c in cells) + " |")
    return lines


def page(entries: list[AuditEntry], records: list[AuditEntry]) -> str:
    kinds = ("agrees", "rounding", "disagrees", "derived")
    counts = {kind: sum(e.status == kind for e in entries) for kind in kinds}
    lines = [
        "# Audit of the paper's figures",
        "",
        "Written by `thinkcap paper --audit`; do not edit. Every derivable figure of the coupling-tax paper is",
        "computed again with `thinkcap.statistics`, first from the paper's own printed figures, then from the",
        "authors' per-sample records. Where printed and recomputed differ, thinkcap uses the recomputed value.",
        "",
        f"Of {len(entries)} figures, {counts['agrees']} agree, {counts['rounding']} differ by rounding, "
        f"{counts['disagrees']} disagree; {counts['derived']} were not printed.",
        "",
        "## Disagreements within the paper",
        "",
        *_table([e for e in entries if e.status == "disagrees"]),
        "",
        "## Rounding",
        "",
        *_table([e for e in entries if e.status == "rounding"]),
        "",
    ]
    if records:
        lines += [
            "## Against the per-sample records",
            "",
            "Printed '-' means that the paper gives no figure.",
            "",
            *_table([e for e in records if e.status != "agrees"]),
            "",
        ]
    return "\n".join(lines)


def audited(published: Path, records: Path | None, as_json: bool = False) -> str:
    """The page, or every figure as JSON."""
    try:
        paper = load(published)
        entries = _recomputed(paper)
    except OSError as err:
        raise DataError(f"{published}: {err.strerror}; wanted the JSON of the paper's printed figures") from err
    except _MISSHAPEN as err:
        what = f"{type(err).__name__}: {err}"
        raise DataError(f"{published}: not the paper's printed figures, or not all of them ({what})") from err
    found = from_records.audit(records, paper) if records is not None else []
    if as_json:
        return json.dumps([dataclasses.asdict(e) for e in (*entries, *found)], indent=1)
    return page(entries, found)
