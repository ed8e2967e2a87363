"""Optimal splits on stored logs, as far as logs suffice: tries without thinking and thoughts at several caps.

Wanted: the folder of the authors' records, found below `--data`. Half of the questions choose, the others judge.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from thinkcap.allocate.guarantee import harm_bound, learn_then_test
from thinkcap.allocate.split import Pass, Passes, Plan, optimal
from thinkcap.diagnose.pairs import matched
from thinkcap.logs.arms import Arm
from thinkcap.logs.door import read
from thinkcap.statistics.bootstrap import percentile_interval

FILES = "nothink_baseline_Qwen3-8B_gsm8k_*.json"
IRIS = "iris_Qwen3_8B_b1256_b2512_ba128_*.json"
CAPS = (128, 256, 384, 512, 768, 896, 1024, 1280, 2048, 2304)
MARGIN, RISK = 0.01, 0.1


def records(data: Path) -> None:
    files = sorted(data.rglob(FILES))
    if not files:
        raise SystemExit(f"no {FILES} below '{data}'; wanted the folder that holds the authors' records")
    found = read(files)
    arms = [a for a in found.arms if a.policy in ("nothink", "think") and a.n == max(b.n for b in found.arms)]
    base = arms[0]
    probe: dict[int, Pass] = {}
    thought: dict[tuple[str, int, int], Pass] = {}
    for arm in arms:
        _, same, _ = matched(base, arm)
        assert same.budget is not None
        done = Pass(same.ends, same.right, same.lengths)
        if arm.policy == "nothink":
            probe[same.budget] = done
        else:
            # No answer pass: a cut chain is answered by what the log read out of it.
            thought["close", same.budget, 0] = done
    passes = Passes(probe, thought)  # type: ignore[arg-type]
    print(f"Qwen3-8B on GSM8K, {passes.n} questions; budgets {sorted(probe)} of both modes")
    order = np.random.default_rng(0).permutation(passes.n)
    half = passes.n // 2
    learn, fresh = passes.take(order[:half]), passes.take(order[half:])
    quarter = fresh.n // 2
    test, judged = fresh.take(np.arange(quarter)), fresh.take(np.arange(quarter, fresh.n))
    weights = np.random.default_rng(1).multinomial(judged.n, np.full(judged.n, 1 / judged.n), size=4000) / judged.n
    print(f"{learn.n} choose, {test.n} test for harm, {judged.n} judge")
    for cap in CAPS:
        best = optimal(learn, cap)
        plans = {
            "nothink": _largest(probe, cap),
            "think": _largest({t: p for (_, t, _), p in thought.items()}, cap),
        }
        fixed = {
            f"{name}@{b}": Plan(b, 0, 0) if name == "nothink" else Plan(0, b, 0) for name, b in plans.items() if b
        }
        rivals = {name: judged.outcome(plan).right for name, plan in fixed.items()}
        held = [test.outcome(plan).right for plan in fixed.values()]
        mine = test.outcome(best.plan).right
        certified = learn_then_test([mine], held, margin=MARGIN, risk=RISK)
        outcome = judged.outcome(best.plan)
        top = max(rivals, key=lambda name: rivals[name].mean())
        gap = outcome.right.astype(float) - rivals[top]
        low, high = percentile_interval(weights @ gap * 100)
        print(
            f"{cap:>5}  {said(best.plan):<28} {100 * outcome.right.mean():5.1f} %, "
            f"{outcome.tokens.mean():6.1f} tokens; "
            f"best fixed {top:<12} {100 * rivals[top].mean():5.1f} %, "
            f"gain {100 * gap.mean():+.1f} [{low:+.1f}, {high:+.1f}]; "
            f"{'certified' if certified.chosen == 0 else 'not certified'}, harm at most "
            f"{100 * harm_bound(mine, held, risk=RISK):.1f} points"
        )
    iris = [a for file in data.rglob(IRIS) for a in read([file]).arms if a.policy == "iris"]
    for arm in iris:
        print_iris(arm)
    print(
        "cannot be judged from these records: stops (no text at checkpoints, no forced answers along one chain), "
        "the division between thought and answer (one answer budget at one cut), and the allocator (no question "
        "text or gold is stored, and the order is a shuffled one, so features cannot be attached)"
    )


def _largest(measured: dict[int, Pass], cap: int) -> int:
    return max((b for b in measured if b <= cap), default=0)


def said(plan: Plan) -> str:
    if not plan.think:
        return f"nothink {plan.probe}"
    return f"think {plan.think}" if not plan.probe else f"nothink {plan.probe}, think {plan.think}"


def print_iris(arm: Arm) -> None:
    tokens = "" if arm.tokens is None else f", {arm.tokens.mean():.1f} tokens"
    print(
        f"for comparison, of another run: iris 256 + 512 + 128, {100 * arm.right.mean():.1f} % of {arm.n}{tokens}"
    )
