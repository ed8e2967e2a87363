"""The pictures of docs/allocation.md, drawn from judged questions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from thinkcap.allocate.envelope import Envelope, Measured, pool
from thinkcap.allocate.stop_fit import fit_stopping, walk


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
