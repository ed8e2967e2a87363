"""Writes the model card from what was recorded: the runs, the evaluation, the agreement, the hashes.

python -m training.card
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from thinkcap.core.prompts import PROMPTS

HOME = Path("src/thinkcap/model")
RECORD = Path(__file__).with_name("record")
EVALUATION = Path(__file__).with_name("evaluation.json")
TEXT = Path(__file__).with_name("card_text.md")


def _stages(runs: list[dict[str, Any]]) -> str:
    lines = [
        "| stage | start | seconds | tokens | peak rate (Muon / Adam) | last loss |",
        "|---|---|---|---|---|---|",
    ]
    for number, run in enumerate(runs, 1):
        start = f"weights {run['init_sha256'][:12]}" if run.get("init_sha256") else "random"
        rates = f"{run['lr']['muon']} / {run['lr']['adam']}"
        lines.append(
            f"| {number} | {start} | {run['seconds']['training']:.0f} | {run['tokens_seen'] / 1e9:.2f} billion "
            f"| {rates} | {run['losses'][-1]['loss']:.4f} |"
        )
    return "\n".join(lines)


def _families(found: dict[str, Any]) -> str:
    lines = [
        "| | questions | no-think | its tokens | thinking, when complete | completed | p50 / p95 / longest |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, f in found.items():
        lines.append(
            f"| {name} | {f['n']} | {f['nothink']} % | {f['nothink_tokens']} | {f['think_when_complete']} % "
            f"| {f['think_completed']} % | {f['p50']} / {f['p95']} / {f['longest']} |"
        )
    return "\n".join(lines)


def _grid(rows: list[dict[str, Any]]) -> str:
    lines = ["| budget | no-think | thinking | completed | thinking, then extracting |", "|---|---|---|---|---|"]
    merged: dict[int, dict[str, Any]] = {}
    for row in rows:
        merged.setdefault(row["budget"], {}).update(row)
    for budget in sorted(merged):
        row = merged[budget]
        split = f"{row['split']} %" if "split" in row else ""
        quick = f"{row['nothink']} %" if "nothink" in row else ""
        lines.append(f"| {budget} | {quick} | {row['think']} % | {100 * row['completed']:.1f} % | {split} |")
    return "\n".join(lines)


def _bbh(found: dict[str, Any]) -> str:
    lines = ["| file | items | no-think | thinking |", "|---|---|---|---|"]
    for name, f in found.items():
        quick = f"{f['nothink']} %" if "nothink" in f else "not run"
        lines.append(f"| {name} | {f['n']} | {quick} | {f['think']} % |")
    return "\n".join(lines)


def _agreement(found: dict[str, Any]) -> str:
    lines = [
        "| with the embedded engine | questions | same answer thinking | without | same ids thinking | without |"
    ]
    lines.append("|---|---|---|---|---|---|")
    for name, f in found.items():
        think, quick = f["think"], f["nothink"]
        lines.append(
            f"| {name} | {f['n']} | {think['same_answer']} % | {quick['same_answer']} % "
            f"| {think['same_ids']} % | {quick['same_ids']} % |"
        )
    return "\n".join(lines)


def card(runs: list[dict[str, Any]], seen: dict[str, Any], hashes: dict[str, Any], agreed: dict[str, Any]) -> str:
    last = runs[-1]
    shape, hardware = last["shape"], last["hardware"]
    vote = seen["voting"]
    half = min((r for r in seen["grid"] if "split" in r), key=lambda r: abs(r["completed"] - 0.5))
    return TEXT.read_text().format(
        parameters=last["parameters"],
        **{k: shape[k] for k in ("layers", "width", "heads", "head", "kv_heads", "inner", "context", "vocab")},
        row_tokens=last["row_tokens"],
        prompts_version=PROMPTS.version,
        prompts_hash=PROMPTS.hash,
        trained_hash=last["prompts"]["hash"],
        billions=sum(r["tokens_seen"] for r in runs) / 1e9,
        stage_count=len(runs),
        **{k: hardware[k] for k in ("accelerator", "cores", "torch")},
        stages=_stages(runs),
        shares=", ".join(f"{k} {v} %" for k, v in last["families"].items()),
        forms=", ".join(f"{k.replace('_', ' ')} {v} %" for k, v in last["forms"].items()),
        barred="yes" if all(r["benchmark_items_excluded"] for r in runs) else "no",
        questions=seen["questions"],
        seed=seen["seed"],
        families=_families(seen["families"]),
        ratio=100 * seen["token_ratio"],
        tail=seen["tail"],
        crossover=seen["crossover"],
        half_budget=half["budget"],
        half_completed=100 * half["completed"],
        half_gain=half["gain"],
        grid=_grid(seen["grid"]),
        from_wrong=seen["refinement"]["from_wrong"],
        from_right=seen["refinement"]["from_right"],
        one_sample=vote["one_sample"],
        majority=vote["majority_of_5"],
        greedy=vote["greedy"],
        vote_n=vote["n"],
        varied=vote["questions_with_different_answers"],
        bbh=_bbh(seen.get("bbh", {})),
        agreement=_agreement(agreed),
        files="\n".join(f"| {name} | {h['bytes']:,} | `{h['sha256']}` |" for name, h in hashes.items()),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HOME / "card.md", help="where the card goes")
    options = parser.parse_args()
    runs = [json.loads(p.read_text()) for p in sorted(RECORD.glob("stage*.json"))]
    agreement = RECORD / "agreement.json"
    text = card(
        runs,
        json.loads(EVALUATION.read_text()),
        json.loads((HOME / "hashes.json").read_text()),
        json.loads(agreement.read_text()) if agreement.exists() else {},
    )
    options.out.write_text(text)
    print(f"{len(text.splitlines())} lines in {options.out}")


if __name__ == "__main__":
    main()
