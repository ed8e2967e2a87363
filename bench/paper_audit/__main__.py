"""Recompute the published figures of the paper with the product's own estimators and list what disagrees.

    python bench/paper_audit PUBLISHED.json [--records FOLDER] [--write docs/paper-audit.md] [--json]

PUBLISHED.json holds the printed figures by id; FOLDER the authors' per-sample records.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import claims
import from_records
import passes
import runs
import tables
from ledger import Entry, Ledger, load


def recompute(published: Path) -> list[Entry]:
    paper, book = load(published), Ledger()
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


def _table(entries: list[Entry]) -> list[str]:
    lines = ["| figure | printed | recomputed | why |", "|---|---|---|---|"]
    for e in entries:
        cells = (e.name, _said(e.published), _said(e.recomputed), e.why)
        lines.append("| " + " | ".join(c.replace("|", "/") for c in cells) + " |")
    return lines


def page(entries: list[Entry], records: list[Entry]) -> str:
    kinds = ("agrees", "rounding", "disagrees", "derived")
    counts = {kind: sum(e.status == kind for e in entries) for kind in kinds}
    lines = [
        "# Audit of the paper's figures",
        "",
        "Written by `python bench/paper_audit`; do not edit. Every derivable figure of the coupling-tax paper is",
        "computed again with `thinkcap.statistics`, first from the paper's own printed figures, then from the",
        "authors' per-sample records. Where printed and recomputed differ, thinkcap uses the recomputed value.",
        "",
        f"Of {len(entries)} figures {counts['agrees']} agree, {counts['rounding']} differ by rounding, "
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


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(prog="paper_audit", description=__doc__)
    options.add_argument("published", type=Path)
    options.add_argument("--records", type=Path)
    options.add_argument("--write", type=Path)
    options.add_argument("--json", action="store_true", help="every figure, not only those that disagree")
    chosen = options.parse_args(arguments)
    entries = recompute(chosen.published)
    records = from_records.audit(chosen.records, load(chosen.published)) if chosen.records else []
    if chosen.json:
        print(json.dumps([dataclasses.asdict(e) for e in (*entries, *records)], indent=1))
    elif chosen.write:
        chosen.write.write_text(page(entries, records))
    else:
        print(page(entries, records))
    return 0


if __name__ == "__main__":
    sys.exit(main())
