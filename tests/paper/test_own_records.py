"""The statistics of a sweep from records of our own: made by a seeded simulator, expected by loops over the rows.

Whoever has no real records still sees here that the numbers are right. A question has one chain and one direct
answer, both cut at every budget; their lengths and luck are drawn once (`sweep(seed)`).
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from thinkcap.cli.diagnose import command

BUDGETS = (64, 128, 256, 512)
N = 160
Rows = dict[int, list[dict[str, Any]]]


def sweep(seed: int) -> dict[str, Rows]:
    rng = random.Random(seed)
    arms: dict[str, Rows] = {mode: {b: [] for b in BUDGETS} for mode in ("nothink", "thinking")}
    for idx in range(N):
        hard = rng.random()
        lengths = {
            "nothink": int(10 + 60 * rng.expovariate(1) * (0.5 + hard)),
            "thinking": int(40 + 260 * rng.expovariate(1) * (0.5 + hard)),
        }
        luck = {"nothink": rng.random() < 0.9 - 0.3 * hard, "thinking": rng.random() < 0.97 - 0.1 * hard}
        guess = rng.random() < 0.2
        for mode, length in lengths.items():
            for b in BUDGETS:
                spent = min(length, b)
                right = luck[mode] if length < b else guess
                row = {"idx": idx, "pred": "1", "correct": right, "tokens": spent}
                arms[mode][b].append(row | {"hit_budget": spent >= int(0.95 * b), "has_final": length < b // 2})
    return arms


def diagnosed(arms: dict[str, Rows], folder: Path) -> dict[str, Any]:
    stored = {f"{mode}_{b}": rows for mode, by in arms.items() for b, rows in by.items()}
    meta = {"model": "our/Model-8B", "benchmark": "gsm8k", "n_samples": N, "budgets": list(BUDGETS), "seed": 1}
    path = folder / "sweep.json"
    path.write_text(json.dumps({"meta": meta, "results": {}, "per_sample": stored}))
    done = CliRunner().invoke(command, [str(path), "--json", "--draws", "0"])
    assert done.exit_code == 0, done.output
    statistics: dict[str, Any] = json.loads(done.output)["statistics"]
    return statistics


def count(rows: list[dict[str, Any]], **wanted: bool) -> int:
    return sum(all(row[k] == v for k, v in wanted.items()) for row in rows)


def right(rows: list[dict[str, Any]]) -> int:
    return count(rows, correct=True)


def of_arm(name: str, b: int, rows: list[dict[str, Any]]) -> dict[str, Any]:
    done, cut = [r for r in rows if r["tokens"] < b], [r for r in rows if r["tokens"] >= b]
    early, late = [r for r in rows if not r["hit_budget"]], [r for r in rows if r["hit_budget"]]
    wrongly = [r for r in rows if r["hit_budget"] and r["tokens"] < b]
    ends = sorted(r["tokens"] for r in done)
    p, z = right(rows) / N, 1.959963984540054
    centre, root = p + z * z / (2 * N), z * math.sqrt(p * (1 - p) / N + z * z / (4 * N * N))
    return {
        f"{name}@{b}.correct_n": [right(rows), N],
        f"{name}@{b}.accuracy_pct": 100 * p,
        f"{name}@{b}.wilson95": [(centre - root) / (1 + z * z / N), (centre + root) / (1 + z * z / N)],
        f"{name}@{b}.mean_tokens": sum(r["tokens"] for r in rows) / N,
        f"{name}@{b}.stop_lt_b": [len(done), N],
        f"{name}@{b}.alpha_c_lt_b": [right(done), len(done)],
        f"{name}@{b}.alpha_t_lt_b": [right(cut), len(cut)],
        f"{name}@{b}.stop_flag": [len(early), N],
        f"{name}@{b}.alpha_c_flag": [right(early), len(early)],
        f"{name}@{b}.alpha_t_flag": [right(late), len(late)],
        f"{name}@{b}.falsely_escalated": [len(wrongly), right(wrongly)],
        f"{name}@{b}.truly_truncated": [len(cut), right(cut)],
        f"{name}@{b}.has_final": [count(rows, has_final=True), count(rows, has_final=True, correct=True)],
        f"{name}@{b}.median_of_uncensored_only": ends[len(ends) // 2] if ends else None,
    }


def of_pair(b: int, direct: list[dict[str, Any]], thought: list[dict[str, Any]]) -> dict[str, Any]:
    both = list(zip(direct, thought, strict=True))
    only_direct = sum(d["correct"] and not t["correct"] for d, t in both)
    only_thought = sum(t["correct"] and not d["correct"] for d, t in both)
    trials, least = only_direct + only_thought, min(only_direct, only_thought)
    p = min(1.0, 2 * sum(math.comb(trials, k) for k in range(least + 1)) / 2**trials) if trials else 1.0
    done = [t for t in thought if t["tokens"] < b]
    cut = [t for t in thought if t["tokens"] >= b]
    f, a_c, a_t = len(done) / N, right(done) / len(done), right(cut) / len(cut)
    a_nt = right(direct) / N
    on_done = sum(d["correct"] - t["correct"] for d, t in both if t["tokens"] < b)
    on_cut = sum(d["correct"] - t["correct"] for d, t in both if t["tokens"] >= b)
    return {
        f"b{b}.tax_pp": 100 * (a_nt - right(thought) / N),
        f"b{b}.TL_pp": 100 * (1 - f) * (a_c - a_t),
        f"b{b}.RR_pp": 100 * (a_nt - a_c),
        f"b{b}.same_subset_pp": [100 * on_done / N, 100 * on_cut / N],
        f"b{b}.F_star_exact": (a_nt - a_t) / (a_c - a_t),
        f"b{b}.F_star_heuristic": a_nt / a_c,
        f"b{b}.mcnemar_nothink_vs_think": [only_direct, only_thought, p],
        f"hoeffding_lower_alpha_c@{b}": a_c - math.sqrt(math.log(20) / (2 * len(done))),
    }


def of_sweep(direct: Rows, thought: Rows) -> dict[str, Any]:
    last = BUDGETS[-1]
    chains = [(r["tokens"], r["tokens"] < last) for r in thought[last]]
    # Only the cap cuts, so F is a plain share of chains and a quantile an order statistic.
    ends = sorted(length for length, ended in chains if ended)

    def quantile(q: float) -> int | None:
        k = math.ceil(q * N - 1e-9)
        return ends[k - 1] if k <= len(ends) else None

    taxes = {b: (right(direct[b]) - right(thought[b])) / N for b in BUDGETS}
    losing = [i for i, b in enumerate(BUDGETS) if taxes[b] > 0]
    at = losing[-1] if losing else -1
    need = [next((b for b in BUDGETS if thought[b][i]["correct"]), 0) for i in range(N)]
    expected: dict[str, Any] = {
        "km_median": quantile(0.5),
        "km_q25_q75": [quantile(0.25), quantile(0.75)],
        "km_F_at_budgets": {str(b): sum(length < b for length in ends) / N for b in BUDGETS},
        "tax_by_budget_pp": {str(b): round(100 * v, 4) for b, v in taxes.items()},
        "empirical_crossover_interval": [
            BUDGETS[at] if at >= 0 else None,
            BUDGETS[at + 1] if at + 1 < len(BUDGETS) else None,
        ],
        "frontier_min_budget": {str(b): need.count(b) for b in (*BUDGETS, 0)},
        "oracle_cost_nominal_charged_skipped": [sum(b or last for b in need) / N, sum(need) / N],
        "union_accuracy": [sum(b > 0 for b in need), N],
    }
    for b in BUDGETS[:-1]:
        done = [r for r in thought[b] if r["tokens"] < b]
        cut = [r for r in thought[b] if r["tokens"] >= b]
        for target in (t for t in BUDGETS if t > b):
            f = sum(length < target for length in ends) / N
            guess = f * right(done) / len(done) + (1 - f) * right(cut) / len(cut)
            expected[f"heldout_pred_{target}_from_{b}"] = [100 * guess, 100 * right(thought[target]) / N]
    return expected


def of_routes(direct: Rows, thought: Rows) -> dict[str, Any]:
    expected: dict[str, Any] = {}
    for b1, b2 in ((x, y) for x in BUDGETS for y in BUDGETS if y > x):
        both = list(zip(direct[b1], thought[b2], strict=True))
        sent = [(d, t) for d, t in both if d["tokens"] >= b1]
        won = sum(t["correct"] and not d["correct"] for d, t in sent)
        lost = sum(d["correct"] and not t["correct"] for d, t in sent)
        tokens = (sum(d["tokens"] for d, _ in both) + sum(t["tokens"] for _, t in sent)) / N
        expected[f"town_grid.lt_b.{b1}_{b2}"] = [
            right(direct[b1]) + won - lost,
            round(tokens, 4),
            len(sent),
            won,
            lost,
        ]
        gain = sum(t["correct"] and not d["correct"] for d, t in both)
        loss = sum(d["correct"] and not t["correct"] for d, t in both)
        share = count(direct[b1], hit_budget=True) / N
        accuracy = (right(direct[b1]) + share * (gain - loss)) / N
        expected[f"router.{b1}_{b2}.full_Rplus_Rminus"] = [gain, loss]
        expected[f"router.{b1}_{b2}.random_closed_form"] = [share * gain, share * loss, 100 * accuracy]
    return expected


def same(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(got, dict) and all(same(got.get(k), v) for k, v in wanted.items())
    if isinstance(wanted, list):
        return len(got) == len(wanted) and all(same(g, w) for g, w in zip(got, wanted, strict=True))
    if wanted is None or got is None:
        return got is wanted
    return bool(abs(got - wanted) <= max(2e-6, 1e-4 * abs(wanted) if abs(wanted) < 1e-3 else 0))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_statistic_of_a_sweep_is_what_the_rows_say(seed: int, tmp_path: Path) -> None:
    arms = sweep(seed)
    direct, thought = arms["nothink"], arms["thinking"]
    expected = of_sweep(direct, thought) | of_routes(direct, thought)
    for b in BUDGETS:
        expected |= of_arm("nothink", b, direct[b]) | of_arm("think", b, thought[b])
        expected |= of_pair(b, direct[b], thought[b])
    got = diagnosed(arms, tmp_path)
    wrong = [(name, v, got.get(name, "absent")) for name, v in expected.items() if not same(got.get(name), v)]
    assert wrong == []
    assert len(expected) > 150


def test_the_comparison_can_fail() -> None:
    assert not same([1, 2], [1, 3])
    assert not same(0, None)
    assert not same(0.5, 0.50001)
