"""The short report every study ends with: the curve as a picture, the table, and where it came from."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkcap.report.curves import accuracy_curves
from thinkcap.study.summary import load_summary

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>thinkcap: {title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
img {{ max-width: 100%; background: white; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #8884; }}
th:nth-child(-n+2), td:nth-child(-n+2) {{ text-align: left; }}
.scroll {{ overflow-x: auto; }}
</style></head><body>
<h1>What a token cap costs</h1>
<p>{title}</p>
{figures}
<div class="scroll">{table}</div>
<p>{tokens}</p>
<details><summary>Provenance</summary><pre>{provenance}</pre></details>
</body></html>
"""


def write_report(folder: Path) -> Path:
    """Writes `report.html`, `curve-TASK.svg` and `.png` beside the rows; returns the page."""
    summary = load_summary(folder)
    cells: Sequence[Mapping[str, Any]] = summary["cells"]
    figures = []
    for task in dict.fromkeys(cell["task"] for cell in cells):
        name = "".join(c if c.isalnum() else "-" for c in task)
        mine = [cell for cell in cells if cell["task"] == task]
        paths = accuracy_curves(mine, folder / f"curve-{name}")
        picture = base64.b64encode(paths["png"].read_bytes()).decode()
        figures.append(
            f"<h2>{html.escape(task)}</h2>"
            f'<img alt="accuracy against budget" src="data:image/png;base64,{picture}">'
        )
    about = summary["provenance"]
    generated, alone = summary["tokens_generated"], summary["tokens_alone"]
    page = _PAGE.format(
        title=html.escape(f"model {about['engine']['model']}, {summary['rows']} rows, {summary['failed']} failed"),
        figures="\n".join(figures),
        table=_table(cells),
        tokens=f"{generated:,} tokens generated; every cell on its own would have generated {alone:,}.",
        provenance=html.escape(_pretty(about)),
    )
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def _table(cells: Sequence[Mapping[str, Any]]) -> str:
    head = ("task", "policy", "budget", "accuracy", "95 % interval", "n", "failed", "ended", "tokens", "source")
    rows = []
    for cell in sorted(cells, key=lambda c: (c["task"], c["policy"], c["budget"])):
        low, high = cell["ci"]
        values = (
            cell["task"],
            cell["policy"],
            cell["budget"],
            _percent(cell["accuracy"]),
            f"{_percent(low)} to {_percent(high)}",
            cell["n"],
            cell["failed"],
            _percent(cell["ended_rate"]),
            "-" if cell["tokens_charged_mean"] is None else f"{cell['tokens_charged_mean']:.0f}",
            cell["source"],
        )
        rows.append("".join(f"<td>{html.escape(str(v))}</td>" for v in values))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><tr>{''.join(f'<th>{h}</th>' for h in head)}</tr>{body}</table>"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _pretty(about: Mapping[str, Any]) -> str:
    import json

    return json.dumps(about, indent=1)
