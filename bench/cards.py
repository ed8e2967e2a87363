"""The capability cards of real servers as one table, from what `thinkcap doctor` found; no cell is typed by hand.

THINKCAP_CARDS=runs/cards make test-servers
python bench/cards.py runs/cards --page docs/servers.md
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from page import written

NAMES = {"vllm": "vLLM", "llama": "llama.cpp's server", "transformers": "transformers serve"}
FACTS = {
    "version": "version",
    "transport": "asked by",
    "switch": "thinking switched",
    "context": "context it tells",
    "prefills": "its turn can be prefilled",
}


def table(cards: Mapping[str, Mapping[str, Any]]) -> str:
    shown = [kind for kind in NAMES if kind in cards]
    lines = [row("", [NAMES[kind] for kind in shown]), "|---|" + "---|" * len(shown)]
    for field, words in FACTS.items():
        lines.append(row(words, [told(cards[kind]["card"].get(field)) for kind in shown]))
    for name in cards[shown[0]]["findings"]:
        found = [cards[kind]["findings"][name] for kind in shown]
        lines.append(row(f"**{name}**", [f"**{one['verdict']}**: {one['seen']}" for one in found]))
    return "\n".join(lines)


def cluster(runs: Sequence[Mapping[str, Any]]) -> str:
    """What a study went through when one node was killed and another joined."""
    lines = [row("", [f"{run['flows']} at a time" for run in runs]), "|---|" + "---|" * len(runs)]
    for words, field in {
        "rows": "rows",
        "finished before the kill, kept byte for byte": "rows_before",
        "tokens generated": "tokens",
        "of them twice": "twice",
        "in flight at most": "in_flight",
        "longest pause between two rows, s": "pause_s",
    }.items():
        lines.append(row(words, [f"{run[field]:,}" for run in runs]))
    return "\n".join(lines)


def told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value else "not said"


def row(first: str, cells: Sequence[str]) -> str:
    return "| " + " | ".join([first, *(cell.replace("|", "\\|").replace("\n", " ") for cell in cells)]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--page", type=Path, help="Write the table between the marks of this page.")
    parser.add_argument("--cluster", type=Path, help="The same for the runs over a cluster.")
    args = parser.parse_args()
    cards = {path.stem: json.loads(path.read_text()) for path in args.folder.glob("*.json") if path.stem in NAMES}
    if not cards:
        parser.error(f"no card of a server in '{args.folder}'; run make test-servers with THINKCAP_CARDS")
    print(table(cards))
    if args.page:
        written(args.page, "cards", table(cards))
    runs = [json.loads(path.read_text()) for path in sorted(args.folder.glob("cluster-*.json"))]
    if runs:
        print(cluster(runs))
    if runs and args.cluster:
        written(args.cluster, "cluster", cluster(runs))


if __name__ == "__main__":
    main()
