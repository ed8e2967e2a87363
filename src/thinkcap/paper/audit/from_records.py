"""Printed figures against the per-sample records they were made from, read by the product's own importers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkcap.logs import read
from thinkcap.paper.audit.ledger import AuditEntry, Data, rows
from thinkcap.paper.statistics import statistics

_FULL = "results_kun/nothink_fullset/nothink_baseline_Qwen3-8B_gsm8k_20260329_"
_HIGH = "results/gap_fill/8b_highbudget/nothink_baseline_Qwen3-8B_gsm8k_2026040"
SWEEP = (
    f"{_FULL}063213.json",
    f"{_FULL}000345.json",
    f"{_HIGH}7_121035.json",
    f"{_HIGH}7_220034.json",
    f"{_HIGH}8_103622.json",
)
NINE = tuple(
    f"results_kun/thinking_hf/qwen35_9b_{b}/thinking_{b}_{stamp}.json"
    for b, stamp in ((512, "20260331_181157"), (1024, "20260401_011619"), (2048, "20260401_085348"))
)


def _compact(b: int) -> tuple[str, str]:
    folder = "results/iris_math500_fullscale" + ("_b4096" if b == 4096 else "")
    return f"{folder}/b{b}_iris_compact.json", f"{folder}/b{b}_town_compact.json"


@dataclass(frozen=True)
class RecordCheck:
    what: str
    files: tuple[str, ...]
    statistic: str
    take: Callable[[Any], Any]
    printed: Callable[[dict[str, Data]], Any]
    why: str


def _share(value: list[int]) -> float:
    return round(100 * value[0] / value[1], 1)


def _tokens(paper: dict[str, Data], method: str) -> int:
    return next(int(r["total_tok"]) for r in rows(paper["compute-matched"]) if r["method"] == method)


CHECKS = (
    RecordCheck(
        "8B, GSM8K, 512: share of chains that end",
        SWEEP[2:3],
        "think@512.stop_lt_b",
        _share,
        lambda p: p["natural-stop-512"]["natstop_pct"],
        "The printed share counts only chains below 95 % of the cap.",
    ),
    RecordCheck(
        "8B, GSM8K, 512: accuracy of cut chains",
        SWEEP[2:3],
        "think@512.alpha_t_lt_b",
        _share,
        lambda p: p["natural-stop-512"]["acc_truncated"],
        "With the 95 % flag, 70 finished chains count as cut.",
    ),
    RecordCheck(
        "8B, GSM8K, 512: accuracy of ended chains",
        SWEEP[2:3],
        "think@512.alpha_c_lt_b",
        _share,
        lambda p: p["natural-stop-512"]["acc_natstop"],
        "558 of 563 by the true event.",
    ),
    RecordCheck(
        "8B, GSM8K: median chain length",
        SWEEP,
        "8B_gsm8k.km_median",
        int,
        lambda p: p["fig:chain-length-cdf"]["median"]["8B"],
        "The printed median is that of finished chains only.",
    ),
    RecordCheck(
        "9B, GSM8K: median chain length",
        NINE,
        "9B_gsm8k.km_median",
        int,
        lambda p: p["fig:chain-length-cdf"]["median"]["9B"],
        "The printed median is that of finished chains only.",
    ),
    RecordCheck(
        "8B, GSM8K: TOWN 256 to 512, right",
        SWEEP,
        "town_grid.lt_b.256_512",
        lambda v: v[0],
        lambda p: p["gsm8k-mrsd-full"]["rows"][1][1],
        "The triage escalated 34 finished probes, 32 of them right, because of the flag.",
    ),
    RecordCheck(
        "8B, GSM8K, 256: no-think accuracy on the hard rest",
        SWEEP[1:2],
        "nothink@256.truly_truncated",
        lambda v: round(100 * v[1] / v[0], 1),
        lambda p: p["interpolation-dominance"]["alpha_nt_hard_pct"],
        "The hard rest is 114 questions, not the 148 flagged.",
    ),
    RecordCheck(
        "8B, MATH-500: tokens of IRIS at 2048",
        _compact(2048),
        "iris.mean_tokens_if_generated_tokens_are_charged",
        lambda v: round(v),
        lambda p: _tokens(p, "iris@2048"),
        "Chains generated in full were charged up to a later cut.",
    ),
    RecordCheck(
        "8B, MATH-500: tokens of IRIS at 4096",
        _compact(4096),
        "iris.mean_tokens_if_generated_tokens_are_charged",
        lambda v: round(v),
        lambda p: _tokens(p, "iris@4096"),
        "Chains generated in full were charged up to a later cut.",
    ),
    RecordCheck(
        "8B, MATH-500, 4096: IRIS against TOWN, p",
        _compact(4096),
        "mcnemar_iris_vs_town",
        lambda v: round(v[2], 2),
        lambda p: None,
        "Paired, 48 to 37: no clear difference; the paper prints no test.",
    ),
    RecordCheck(
        "8B, MATH-500, 4096: gap on stage 3, points",
        _compact(4096),
        "stage3_alpha_e_alpha_t_recoverable_pp",
        lambda v: round(100 * (v[0] - v[1]), 1),
        lambda p: None,
        "On the 157 cut chains; 30.5 points at 2048.",
    ),
    RecordCheck(
        "8B, GSM8K: heuristic crossover from 512",
        SWEEP,
        "8B_gsm8k.predicted_b_star_heuristic_from_512",
        lambda v: v if v is not None else "beyond 2048",
        lambda p: None,
        "Not at 2048: beyond what was observed.",
    ),
    RecordCheck(
        "27B, GSM8K, 4096: share that must end",
        ("results/p21_27b_gsm8k_extend/b4096/nothink_baseline_Qwen3_5-27B_gsm8k_20260418_141928.json",),
        "b4096.F_star_exact",
        lambda v: round(v, 3),
        lambda p: None,
        "Above 1: no budget would be enough.",
    ),
    RecordCheck(
        "8B, GSM8K: mode and prompt, interaction in points",
        ("results/factorial_ablation/factorial_gsm8k.json",),
        "factorial.interaction_pp",
        lambda v: round(v, 1),
        lambda p: None,
        "Left open by the paper.",
    ),
)


def audit(folder: Path, paper: dict[str, Data]) -> list[AuditEntry]:
    seen: dict[tuple[str, ...], dict[str, Any]] = {}
    entries = []
    for check in CHECKS:
        if check.files not in seen:
            seen[check.files] = statistics(read([folder / f for f in check.files]))
        value, printed = check.take(seen[check.files][check.statistic]), check.printed(paper)
        status = "derived" if printed is None else "agrees" if printed == value else "disagrees"
        entries.append(AuditEntry(check.what, printed, value, status, check.why))
    return entries
