"""The picture of a README: what a cap does to both modes, and what is won back, from a real run."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from thinkcap.core.errors import ConfigError
from thinkcap.core.extras import extra
from thinkcap.core.files import SHARED, replacing
from thinkcap.core.types import Mode
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.diagnose.findings import ArmSummary
from thinkcap.report.figures import subjects
from thinkcap.report.figures.style import BLUE, GREEN, VERMILLION, budgets_axis, new
from thinkcap.report.material import Material

_KINDS = (".svg", ".png")


def write_picture(material: Material, path: Path) -> Path:
    """Three lines: no thinking, thinking, and the best method that was run."""
    if path.suffix.lower() not in _KINDS:
        raise ConfigError(f"a picture must be {' or '.join(_KINDS)}, not '{path.suffix or path.name}'")
    with extra("figures", "drawing a picture"):
        from matplotlib import rc_context

    found = subjects(material, diagnose(material.records))[0].found
    title = f"{found.model} on {found.task}, n = {max(a.n for a in found.arms)}"
    figure, axes = new(title, y="right answers, %", width=7.6, height=3.8)
    best = _best(found.arms)
    lines = [("think", "thinking", VERMILLION, "s"), ("nothink", "no thinking", BLUE, "o")]
    lines += [(best, best, GREEN, "^")] if best else []
    budgets: list[int] = []
    ends: list[tuple[float, str, str]] = []
    for policy, label, colour, marker in lines:
        arms = sorted((a for a in found.arms if a.method == policy and a.budget), key=lambda a: a.budget or 0)
        if not arms:
            continue
        x = [a.budget or 0 for a in arms]
        budgets += x
        axes.plot(x, [100 * (a.accuracy.value or 0) for a in arms], color=colour, marker=marker, linewidth=2)
        low, high = ([100 * (getattr(a.accuracy, end) or 0) for a in arms] for end in ("low", "high"))
        axes.fill_between(x, low, high, color=colour, alpha=0.14)
        ends.append((100 * (arms[-1].accuracy.value or 0), label, colour))
    height = -100.0
    for end, label, colour in sorted(ends):
        # Labels of lines that meet are kept a line apart.
        height = max(end, height + 6.5)
        place = (max(budgets) * 1.06, height)
        axes.annotate(label, place, color=colour, weight="bold", va="center", fontsize=10)
    budgets_axis(axes, budgets)
    axes.set_xlim(min(budgets) * 0.9, max(budgets) * 1.9)
    axes.set_ylim(0, 102)
    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.hashsalt": "thinkcap"}):
        clean = {"Date": None} if path.suffix.lower() == ".svg" else {"Software": None}
        with replacing(path, SHARED) as file:
            figure.savefig(file, format=path.suffix[1:].lower(), dpi=160, metadata=clean)
    return path


def _best(arms: tuple[ArmSummary, ...]) -> str:
    """The method with the highest mean accuracy over its caps; readings of a plain chain are no method."""
    found: dict[str, list[float]] = {}
    for arm in arms:
        if arm.budget and not arm.control and arm.policy.partition("[")[0] not in get_args(Mode):
            found.setdefault(arm.method, []).append(arm.accuracy.value or 0.0)
    return max(found, key=lambda p: sum(found[p]) / len(found[p])) if found else ""
