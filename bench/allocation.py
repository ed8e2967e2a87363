"""What spending tokens well is worth: allocator, optimal split, stops and `auto`, on questions none of them saw.

    python bench/allocation.py measure --runs runs/allocation --fit 500 --judge 2000
    python bench/allocation.py judge --runs runs/allocation --figures docs/img --page docs/allocation.md
    python bench/allocation.py records --data DATA
    python bench/allocation.py guarantee

`measure` runs studies of 125 questions each, `fit-NN` and `judge-NN`, from different seeds; killed, it goes on
where it was. `judge` fits on the first, replays on the second, prints every figure of docs/allocation.md and draws
its pictures. `records` does what stored logs allow. `guarantee` simulates the stated risk.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from thinkcap.allocate.envelope import Envelope, Measured, fit, pool
from thinkcap.allocate.fit import score
from thinkcap.allocate.guarantee import harm_p
from thinkcap.allocate.model import KINDS
from thinkcap.allocate.split import Pass
from thinkcap.allocate.stop import fit_stopping, walk
from thinkcap.diagnose.bootstrap import percentile_interval

CAPS = (32, 64, 96, 128, 192, 256, 384, 512, 768)
CUTS = (16, 32, 64, 96, 160, 224, 336, 448, 672)
RIVALS = ("close", "split", "iris", "town", "think[heuristic]")
CHUNK = 125
SEEDS = {"fit": 1000, "judge": 2000}
DRAWS = 4000
BEGIN, END = "<!-- judged -->", "<!-- end of judged -->"


def policies() -> list[dict[str, object]]:
    plans: list[dict[str, object]] = [
        {"name": "nothink", "budgets": sorted({*CAPS, 16, 48})},
        {"name": "think", "budgets": list(CAPS)},
    ]
    for name, option, answers in (("close", "reserve", (16, 32, 64)), ("split", "answer", (32, 64))):
        plans += [{"name": name, option: a, "budgets": [t + a for t in CUTS if t > 16 or a < 64]} for a in answers]
    return plans + [{"name": name, "budgets": list(CAPS)} for name in RIVALS]


def measure(runs: Path, sizes: dict[str, int]) -> None:
    from thinkcap.study.config import StudyConfig
    from thinkcap.study.run import run

    for kind, size in sizes.items():
        for i in range(-(-size // CHUNK)):
            out = runs / f"{kind}-{i:02d}"
            if (out / "summary.json").exists():
                continue
            config = {"limit": CHUNK, "seeds": [SEEDS[kind] + i], "out": str(out), "policy": policies()}
            done = asyncio.run(run(StudyConfig.from_mapping(config)))
            print(f"{out}: {len(done.rows)} rows, {done.summary['tokens_generated']} tokens", flush=True)


def written(page: Path, text: str) -> None:
    """The printed figures between the page's two marks, so that no figure there is typed by hand."""
    old = page.read_text(encoding="utf-8")
    head, mark, rest = old.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not mark or not end:
        raise SystemExit(f"'{page}' has no marks {BEGIN} and {END} to write between")
    page.write_text(f"{head}{mark}\n```\n{text.strip()}\n```\n{end}{tail}", encoding="utf-8")


class Tee(io.StringIO):
    """Prints on, and keeps what was printed."""

    def write(self, text: str) -> int:
        sys.__stdout__.write(text)  # type: ignore[union-attr]
        return super().write(text)


def weights(n: int, draws: int = DRAWS, seed: int = 0) -> np.ndarray:
    """Rows of resampling weights: every comparison below resamples the same questions."""
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=draws) / n


def percent(x: float) -> str:
    return f"{100 * x:.1f}"


def span(draws: np.ndarray, level: float = 0.95, unit: float = 100) -> str:
    low, high = percentile_interval(draws * unit, level)
    return f"[{low:+.1f}, {high:+.1f}]"


def judge(runs: Path, figures: Path | None, margin: float, risk: float, price: float) -> None:
    from thinkcap.study.allocation import load

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
    print_choices(found, fresh, drawn)
    print_area(found, fresh, drawn)
    print_candidates(found, fresh)
    print_stops(found, learned, fresh, drawn)
    print_allocator(found, fresh)
    if figures:
        draw(found, learned, fresh, figures)


def print_choices(found: Envelope, fresh: Measured, drawn: np.ndarray) -> None:
    """Best fixed policy in hindsight against auto; the family of caps is corrected by Holm's steps."""
    print("\nauto at every cap, against the fixed policy that turned out best on the judged questions")
    rows = []
    for choice in found.choices:
        mine = found.outcome(fresh, choice.cap)
        best = max(fresh.fixed, key=lambda name: fresh.fixed[name][choice.cap].right.mean())
        gap = fresh.fixed[best][choice.cap].right.astype(float) - mine.right
        draws = drawn @ gap
        rows.append((choice, mine, best, gap.mean(), draws))
    spread = [r[4].std() or 1e-9 for r in rows]
    order = sorted(range(len(rows)), key=lambda i: -(rows[i][3] - 0.005) / spread[i])
    level = {i: 1 - 0.05 / (len(rows) - rank) for rank, i in enumerate(order)}
    print(
        f"{'cap':>5} {'auto':>6} {'tokens':>7}  {'best fixed':<18}{'':>6} {'tokens':>7}  "
        "gap, Holm interval   what auto does"
    )
    worst = []
    for i, (choice, mine, best, gap, draws) in enumerate(rows):
        fixed = fresh.fixed[best][choice.cap]
        low = percentile_interval(draws, level[i])[0]
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
            f"{100 * gap:+.1f} {span(draws, level[i]):<16} "
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
    head = "log loss  class accuracy (majority)      tokens saved   of oracle's saving   accuracy kept"
    print(f"{'':<10} {head}")
    for kind in KINDS:
        print_score(found.report.scores[kind], " <- used" if kind == found.report.best else "")
    how = found.choices[-1].split.plan.how
    questions = pool(fresh, how)
    chances = found.allocator.chances(fresh.x)
    print("the one in use, on the judged questions; the likeliest budget, and the budget that is sure to suffice")
    for sure in (None, 0.5, 0.8, 0.95):
        print_score(score(f"sure {sure}", questions, chances, found.allocator.levels(fresh.x, sure)))


def print_score(s: object, mark: str = "") -> None:
    from thinkcap.allocate.fit import Score

    assert isinstance(s, Score)

    def interval(pair: tuple[float, float]) -> str:
        return f"[{100 * pair[0]:.1f}, {100 * pair[1]:.1f}]"

    print(
        f"{s.kind:<10} {s.log_loss:>8.3f}  "
        f"{percent(s.class_accuracy)} {interval(s.class_interval)} ({percent(s.majority)})"
        f"   {percent(s.saved)} {interval(s.saved_interval)}   "
        f"{percent(s.of_oracle)} {interval(s.of_oracle_interval)}"
        f"   {100 * s.kept:+.1f} {interval(s.kept_interval)}{mark}"
    )


def guarantee(repetitions: int, risk: float, margin: float) -> None:
    """The truth is exactly at the margin: every certificate is a violation."""
    print(f"{repetitions} repetitions each, stated risk {risk}, truth exactly {margin} worse")
    for n in (60, 250, 1000):
        for flips in (0.03, 0.08, 0.2):
            rng = np.random.default_rng(n)
            wrong = 0
            for _ in range(repetitions):
                u = rng.random(n)
                lost, won = u < (flips + margin) / 2, (u >= (flips + margin) / 2) & (u < flips)
                fixed = rng.random(n) < 0.8
                candidate = np.where(lost, False, np.where(won, True, fixed))
                fixed = np.where(lost, True, np.where(won, False, fixed))
                wrong += harm_p(candidate, fixed, margin) <= risk
            print(f"  n = {n:>4}, answers that differ {100 * flips:4.1f} %: violations {wrong / repetitions:.3f}")


def draw(found: Envelope, learned: Measured, fresh: Measured, folder: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update(
        {"svg.hashsalt": "thinkcap", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    )
    figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    for name, by in fresh.fixed.items():
        axis.plot(fresh.caps, [100 * by[c].right.mean() for c in fresh.caps], marker=".", lw=1, label=name)
    auto = [100 * found.outcome(fresh, c).right.mean() for c in fresh.caps]
    axis.plot(fresh.caps, auto, color="black", lw=2.2, label="auto")
    axis.set(xscale="log", xlabel="cap, tokens", ylabel="right, %", title=f"{fresh.n} questions none of them saw")
    axis.set_xticks(fresh.caps, [str(c) for c in fresh.caps])
    axis.minorticks_off()
    axis.legend(fontsize=8)
    figure.savefig(folder / "allocation-caps.svg", metadata={"Date": None})
    answer = max(fresh.chains)
    chains = fresh.chains[answer]
    figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    cells = [fresh.passes.thought["close", t, answer] for t in chains.checkpoints]
    axis.plot(
        [c.tokens.mean() for c in cells],
        [100 * c.right.mean() for c in cells],
        marker=".",
        label="fixed limit, then close",
    )
    points = []
    for cost in np.geomspace(1e-4, 1e-2, 12):
        table = fit_stopping(learned.chains[answer], price=float(cost))
        right, spent, _ = walk(table, chains, chains.checkpoints[-1])
        points.append((spent.mean(), 100 * right.mean()))
    axis.plot(
        *zip(*sorted(points), strict=True), marker="o", ms=3, color="black", label="stop, by price of a token"
    )
    axis.set(xlabel="tokens a question, mean", ylabel="right, %")
    axis.legend(fontsize=8)
    figure.savefig(folder / "allocation-stop.svg", metadata={"Date": None})
    figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    budgets = pool(fresh, "close")
    share = np.bincount(budgets.target, minlength=len(budgets.budgets)) / fresh.n
    given = np.bincount(found.allocator.levels(fresh.x, 0.8), minlength=len(budgets.budgets)) / fresh.n
    x = np.arange(len(budgets.budgets))
    axis.bar(x - 0.2, 100 * share, 0.4, label="least sufficient (oracle)")
    axis.bar(x + 0.2, 100 * given, 0.4, color="black", label="given, 80 % sure")
    axis.set_xticks(x, ["none", *map(str, budgets.budgets[1:])])
    axis.set(xlabel="thinking budget, tokens", ylabel="questions, %")
    axis.legend(fontsize=8)
    figure.savefig(folder / "allocation-budgets.svg", metadata={"Date": None})
    print(f"\nfigures: {folder}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("measure")
    two = verbs.add_parser("judge")
    for verb in (one, two):
        verb.add_argument("--runs", type=Path, default=Path("runs/allocation"))
    one.add_argument("--fit", type=int, default=500)
    one.add_argument("--judge", type=int, default=2000)
    two.add_argument("--figures", type=Path)
    two.add_argument("--page", type=Path, help="write what is printed between the marks of this page")
    two.add_argument("--margin", type=float, default=0.01)
    two.add_argument("--risk", type=float, default=0.1)
    two.add_argument("--price", type=float, default=0.0001)
    three = verbs.add_parser("records")
    three.add_argument("--data", type=Path, required=True)
    four = verbs.add_parser("guarantee")
    four.add_argument("--repetitions", type=int, default=500)
    given = parser.parse_args()
    if given.verb == "measure":
        measure(given.runs, {"fit": given.fit, "judge": given.judge})
    elif given.verb == "judge":
        with contextlib.redirect_stdout(Tee()) as kept:
            judge(given.runs, given.figures, given.margin, given.risk, given.price)
        if given.page:
            written(given.page, kept.getvalue().partition("\nfigures:")[0])
    elif given.verb == "records":
        from allocation_records import records

        records(given.data)
    else:
        guarantee(given.repetitions, 0.1, 0.01)


if __name__ == "__main__":
    main()
