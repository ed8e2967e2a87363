"""What was fitted on some questions, judged on others: `auto` and its parts against every fixed policy.

judge(Path("runs/allocation"), figures=None, margin=0.01, risk=0.1, price=0.0001)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from thinkcap.allocate.envelope import Envelope, Measured, fit, pool
from thinkcap.allocate.fit import Score, score
from thinkcap.allocate.model import KINDS
from thinkcap.allocate.split import Pass
from thinkcap.allocate.stop_fit import fit_stopping, walk
from thinkcap.statistics.bootstrap import percentile_interval
from thinkcap.statistics.paired import difference_interval
from thinkcap.statistics.precision import simultaneous

DRAWS = 4000


def weights(n: int, draws: int = DRAWS, seed: int = 0) -> np.ndarray:
    """Rows of resampling weights: every comparison below resamples the same questions."""
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=draws) / n


def percent(x: float) -> str:
    return f"{100 * x:.1f}"


def span(draws: np.ndarray, level: float = 0.95, unit: float = 100) -> str:
    low, high = percentile_interval(draws * unit, level)
    return f"[{low:+.1f}, {high:+.1f}]"


def judge(runs: Path, figures: Path | None, margin: float, risk: float, price: float) -> None:
    from thinkcap.calibrate.allocation import load

    sides = {}
    for kind in ("fit", "judge"):
        folders = sorted(p.parent for p in runs.glob(f"{kind}-*/summary.json"))
        if not folders:
            raise SystemExit(
                f"no finished study {kind}-NN in '{runs}'; run: bench/allocation.py measure --runs {runs}"
            )
        sides[kind] = load(folders)
    learned, fresh = sides["fit"], sides["judge"]
    print(f"fitted on {learned.n} questions, judged on {fresh.n} others; caps {', '.join(map(str, fresh.caps))}")
    found = fit(learned, margin=margin, risk=risk, price=price)
    drawn = weights(fresh.n)
    print_choices(found, fresh)
    print_area(found, fresh, drawn)
    print_candidates(found, fresh)
    print_stops(found, learned, fresh, drawn)
    print_allocator(found, fresh)
    if figures:
        from allocation_pictures import draw

        draw(found, learned, fresh, figures)


def print_choices(found: Envelope, fresh: Measured) -> None:
    """Best fixed policy in hindsight against auto; the intervals hold for every cap and every rival at once."""
    print("\nauto at every cap, against the fixed policy that turned out best on the judged questions")
    rows = []
    for choice in found.choices:
        mine = found.outcome(fresh, choice.cap)
        best = max(fresh.fixed, key=lambda name: fresh.fixed[name][choice.cap].right.mean())
        rows.append((choice, mine, best))
    # The best rival is picked with the outcomes in hand, so all of them belong to the family.
    level = simultaneous(len(rows) * len(fresh.fixed))
    print(
        f"{'cap':>5} {'auto':>6} {'tokens':>7}  {'best fixed':<18}{'':>6} {'tokens':>7}  "
        "gap, simultaneous    what auto does"
    )
    worst = []
    for choice, mine, best in rows:
        fixed = fresh.fixed[best][choice.cap]
        gap = float(fixed.right.mean() - mine.right.mean())
        low, high = difference_interval(fixed.right, mine.right, level=level)
        if low > 0.005:
            worst.append(choice.cap)
        kind = (
            ""
            if choice.spending.sure is None
            else f" for questions the allocator lets think (sure {choice.spending.sure})"
        )
        mark = "certified" if choice.certified.chosen is not None else "surest fixed"
        print(
            f"{choice.cap:>5} {percent(mine.right.mean()):>6} {mine.tokens.mean():>7.1f}  {best:<18}"
            f"{percent(fixed.right.mean()):>6} {fixed.tokens.mean():>7.1f}  "
            f"{100 * gap:+.1f} {f'[{100 * low:+.1f}, {100 * high:+.1f}]':<16} "
            f"{choice.spending.policy}{kind} ({mark})"
        )
    said = f"at {', '.join(map(str, worst))}" if worst else "at no cap"
    print(f"interval wholly above 0.5 points: {said}")


def print_area(found: Envelope, fresh: Measured, drawn: np.ndarray) -> None:
    logs = np.log(np.array(fresh.caps, dtype=float))
    steps = np.diff(logs)
    share = (np.concatenate((steps, [0])) + np.concatenate(([0], steps))) / (2 * (logs[-1] - logs[0]))

    def area(by: Sequence[Pass]) -> np.ndarray:
        return np.stack([p.right for p in by], axis=1) @ share

    mine = area([found.outcome(fresh, cap) for cap in fresh.caps])
    print(f"\narea under accuracy against log budget: auto {percent(mine.mean())}")
    for name, by in sorted(
        fresh.fixed.items(), key=lambda item: -np.mean([p.right.mean() for p in item[1].values()])
    ):
        theirs = area([by[cap] for cap in fresh.caps])
        print(
            f"  {name:<18} {percent(theirs.mean()):>6}   "
            f"auto - it {100 * (mine - theirs).mean():+.1f} {span(drawn @ (mine - theirs))}"
        )


def print_candidates(found: Envelope, fresh: Measured) -> None:
    print("\nthe three answers on the judged questions, as the learning half made them (accuracy, tokens)")
    for choice in found.choices:
        parts = []
        for s in choice.candidates:
            outcome = found.outcome(fresh, choice.cap, s)
            parts.append(f"{s.kind} {percent(outcome.right.mean())} {outcome.tokens.mean():.0f}")
        check = choice.split.check
        first = (
            ""
            if check is None or check.first_order is None
            else f"   first-order {check.first_order:+.2f} points/100 tokens"
        )
        print(f"{choice.cap:>5}  " + ", ".join(parts) + f"   harm at most {100 * choice.bound:.1f} points{first}")


def at_tokens(points: np.ndarray, tokens: float) -> float:
    """Accuracy of the curve at a mean cost, between the limits that were measured."""
    return float(np.interp(tokens, points[:, 0], points[:, 1]))


def at_accuracy(points: np.ndarray, accuracy: float) -> float:
    """Least mean cost at which the curve has this accuracy; its whole cost where it never has."""
    reached = np.flatnonzero(points[:, 1] >= accuracy - 1e-12)
    if len(reached) == 0 or reached[0] == 0:
        return float(points[-1 if len(reached) == 0 else 0, 0])
    (x0, y0), (x1, y1) = points[reached[0] - 1], points[reached[0]]
    return float(x1 if y1 == y0 else x0 + (x1 - x0) * (accuracy - y0) / (y1 - y0))


def print_stops(found: Envelope, learned: Measured, fresh: Measured, drawn: np.ndarray) -> None:
    """Thinking up to a limit and closing, with and without the table; the rival is the whole curve of limits."""
    answer = max(fresh.chains)
    chains, fitted = fresh.chains[answer], learned.chains[answer]
    rights = np.stack([fresh.passes.thought["close", t, answer].right for t in chains.checkpoints], axis=1)
    tokens = np.stack([fresh.passes.thought["close", t, answer].tokens for t in chains.checkpoints], axis=1)
    limit = chains.checkpoints[-1]
    print(f"\nstop (limit {limit}, answer {answer}) against thinking to a fixed limit and closing")
    print(
        "   price  accuracy  tokens  stopped   at equal tokens: accuracy gained   at equal accuracy: tokens saved"
    )
    for cost in (1e-4, 3e-4, 1e-3, 2e-3, 3e-3, 5e-3):
        right, spent, stopped = walk(fit_stopping(fitted, price=cost), chains, limit)
        gained, saved = [], []
        for w in np.concatenate((np.full((1, fresh.n), 1 / fresh.n), drawn[:1000])):
            points = np.stack([w @ tokens, np.maximum.accumulate(w @ rights)], axis=1)
            r, s = float(w @ right), float(w @ spent)
            gained.append(r - at_tokens(points, s))
            saved.append(at_accuracy(points, r) - s)
        print(
            f"{cost:>8.0e}  {percent(right.mean()):>8} {spent.mean():>7.1f}  {percent((stopped > 0).mean()):>6} %"
            f"   {100 * gained[0]:+.1f} {span(np.array(gained[1:])):<16}"
            f"                 {saved[0]:+.1f} {span(np.array(saved[1:]), unit=1)}"
        )
    print("the table of the learning half at the largest limit: chance to end before the next checkpoint, choice")
    for at, row in zip(found.stopping.checkpoints, found.stopping.rules[-1].checks, strict=False):
        cells = "  ".join(f"n={c.chains:<4} ends {c.ends:.2f} {'stop' if c.stop else 'go  '}" for c in row)
        print(f"{at:>6}  {cells}")


def print_allocator(found: Envelope, fresh: Measured) -> None:
    print("\nallocator, cross-validated on the learning half (predicted by fits that did not see the question)")
    head = "log loss  class accuracy (majority)    saved at no loss   of oracle's saving  lost   accuracy kept"
    print(f"{'':<10} {head}")
    for kind in KINDS:
        print_score(found.report.scores[kind], " <- used" if kind == found.report.best else "")
    how = found.choices[-1].split.plan.how
    questions = pool(fresh, how)
    chances = found.allocator.chances(fresh.x)
    print("the one in use, on the judged questions; the likeliest budget, and the budget that is sure to suffice")
    for sure in (None, 0.5, 0.8, 0.95):
        print_score(score(f"sure {sure}", questions, chances, found.allocator.levels(fresh.x, sure)))


def print_score(s: Score, mark: str = "") -> None:
    def interval(pair: tuple[float, float]) -> str:
        return f"[{100 * pair[0]:.1f}, {100 * pair[1]:.1f}]"

    print(
        f"{s.kind:<10} {s.log_loss:>8.3f}  "
        f"{percent(s.class_accuracy)} {interval(s.class_interval)} ({percent(s.majority)})"
        f"   {percent(s.saved)} {interval(s.saved_interval)}   "
        f"{'-' if s.of_oracle is None else percent(s.of_oracle)} "
        f"{'' if s.of_oracle_interval is None else interval(s.of_oracle_interval)}"
        f"   {percent(s.lost)}   {100 * s.kept:+.1f} {interval(s.kept_interval)}{mark}"
    )
