"""Do the intervals cover what they claim? Known laws, known accuracies, small and large studies, many repetitions.

    python bench/coverage.py [--repetitions 1000] [--n 20 50 300]

Shares and paired differences are enumerated, the rest is simulated: rare discordant pairs, shares near 0 and 1,
all chains censored and none, five answers to every question. One line a quantity and setting says how often a
95 % interval held, and a word: `wider` above 98 %, `UNDER` clearly below 93 %, `EMPTY` for an interval without
width. Exits 1 at the last two.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, multinomial

from thinkcap.statistics.crossover import empirical, empirical_with_interval
from thinkcap.statistics.halves import split_sample
from thinkcap.statistics.hazard import decreasing, hazard
from thinkcap.statistics.modal import two_by_two
from thinkcap.statistics.paired import difference_interval, interval_of, mcnemar_counts
from thinkcap.statistics.precision import accuracy, proportion, simultaneous
from thinkcap.statistics.survival import survival

Draw = Callable[[np.random.Generator, int], np.ndarray]
Held = tuple[bool, float]
"""Whether an interval held the truth, and its width."""
BUDGETS = [128, 256, 512, 1024, 2048]
ALPHA_C, ALPHA_T, NOTHINK = 0.95, 0.2, 0.75
NEVER = 10**7
CAPS = {"none censored": NEVER, "some censored": 1024, "nearly all censored": 96}


@dataclass(frozen=True)
class Line:
    quantity: str
    setting: str
    n: int
    covered: float
    width: float
    repetitions: int | None
    """None where every outcome was enumerated."""

    @property
    def word(self) -> str:
        error = 0.0 if self.repetitions is None else 2 * math.sqrt(0.05 * 0.95 / self.repetitions)
        if self.width <= 0:
            return "EMPTY"
        if self.covered + error < 0.93:
            return "UNDER"
        return "wider" if self.covered > 0.98 else ""

    @property
    def good(self) -> bool:
        return self.word not in ("EMPTY", "UNDER")


def shares(n: int) -> Iterator[Line]:
    """Accuracies: enumerated over all counts, at many true shares."""
    k = np.arange(n + 1)
    found = [proportion(int(i), n) for i in k]
    low, high = np.array([f.low for f in found]), np.array([f.high for f in found])
    edge = np.geomspace(1e-5, 0.05, 200)
    for setting, truths in (
        ("0.05 to 0.95", np.linspace(0.05, 0.95, 361)),
        ("near 0", edge),
        ("near 1", 1 - edge),
    ):
        covered = [float(binom.pmf(k, n, p)[(low <= p) & (p <= high)].sum()) for p in truths]
        yield Line("accuracy", f"{setting}, least", n, min(covered), float((high - low).min()), None)


def pairs(n: int) -> Iterator[Line]:
    """Paired differences: enumerated over the counts of discordant pairs that can occur at all."""
    known: dict[tuple[int, int], tuple[float, float]] = {}
    for only_first, only_second in (
        (0.005, 0.005),
        (0.01, 0),
        (0.03, 0.01),
        (0.1, 0.02),
        (0.05, 0.05),
        (0.3, 0.1),
    ):
        most = [int(binom.ppf(1 - 1e-7, n, p)) for p in (only_first, only_second)]
        counts = [(b, c) for b in range(most[0] + 1) for c in range(most[1] + 1) if b + c <= n]
        for b, c in counts:
            if (b, c) not in known:
                known[b, c] = interval_of(mcnemar_counts(b, c, n))
        table = np.array([(b, c, n - b - c) for b, c in counts])
        chance = multinomial.pmf(table, n, [only_first, only_second, 1 - only_first - only_second])
        ends = np.array([known[pair] for pair in counts])
        true = only_first - only_second
        held = (ends[:, 0] <= true + 1e-12) & (true <= ends[:, 1] + 1e-12)
        setting = f"{100 * only_first:g} % and {100 * only_second:g} % discordant"
        width = float((ends[:, 1] - ends[:, 0]).min())
        yield Line("paired difference", setting, n, float(chance[held].sum()), width, None)


def _mixture(rng: np.random.Generator, n: int) -> np.ndarray:
    easy = rng.random(n) < 0.6
    return np.where(easy, rng.exponential(200, n), rng.exponential(1500, n))


LAWS: dict[str, Draw] = {
    "exponential": lambda rng, n: rng.exponential(500, n),
    "Weibull 0.7": lambda rng, n: 450 * rng.weibull(0.7, n),
    "Weibull 1.8": lambda rng, n: 600 * rng.weibull(1.8, n),
    "log-normal": lambda rng, n: rng.lognormal(6.2, 0.7, n),
    "mixture": _mixture,
}
FALLING = ("Weibull 0.7", "mixture")


def _whole(values: np.ndarray) -> np.ndarray:
    return np.maximum(1, np.ceil(values)).astype(np.int64)


@dataclass(frozen=True)
class Truth:
    """What a very large sample of the law says; its own error is far below the intervals' width."""

    share: dict[int, float]
    median: float
    crossing: float
    """log2 of the budget; infinite where the sweep never crosses."""


def truth(law: str, size: int = 1_000_000) -> Truth:
    lengths = _whole(LAWS[law](np.random.default_rng(1), size))
    share = {b: float((lengths <= b).mean()) for b in (32, 64, *BUDGETS)}
    taxes = [NOTHINK - (share[b] * ALPHA_C + (1 - share[b]) * ALPHA_T) for b in BUDGETS]
    found = empirical(BUDGETS, taxes)
    ends = {"before": -math.inf, "beyond": math.inf}
    return Truth(share, float(np.median(lengths)), ends.get(found.status, math.log2(found.point or 1)))


def of_lengths(law: str, true: Truth, n: int, seed: int) -> Iterator[tuple[str, str, Held]]:
    """Kaplan-Meier of one simulated study, its chains cut nowhere, somewhere and nearly everywhere."""
    lengths = _whole(LAWS[law](np.random.default_rng([seed, n, *law.encode()]), n))
    for name, cap in CAPS.items():
        curve = survival(np.minimum(lengths, cap), lengths <= cap)
        for b in (64, 256, 1024):
            if b <= cap:
                low, high = curve.band(b)
                yield f"F({b})", f"{law}, {name}", (low <= true.share[b] <= high, high - low)
        first, last = curve.quantile_interval()
        # An end that is not reached lies beyond what was observed.
        start = float(curve.last or 0) if first is None else first
        stop = math.inf if last is None else last
        # An interval of whole lengths may be a single one.
        yield "median length", f"{law}, {name}", (start <= true.median <= stop, stop - start + 1)


def of_sweep(law: str, true: Truth, n: int, seed: int, draws: int) -> Iterator[tuple[str, str, Held]]:
    rng = np.random.default_rng([seed, n, 7, *law.encode()])
    lengths = _whole(LAWS[law](rng, n))
    # One uniform a question decides right or wrong at every budget: a longer budget never spoils luck.
    luck = rng.random(n)
    thought = np.stack([luck < np.where(lengths <= b, ALPHA_C, ALPHA_T) for b in BUDGETS], axis=1)
    direct = np.repeat((rng.random(n) < NOTHINK)[:, None], len(BUDGETS), axis=1)
    found = empirical_with_interval(BUDGETS, direct, thought, draws=draws, seed=seed)
    low = math.log2(found.low) if found.low else {"before": -math.inf, "beyond": math.inf}[found.low_is or ""]
    high = math.log2(found.high) if found.high else {"before": -math.inf, "beyond": math.inf}[found.high_is or ""]
    yield "crossover", law, (low <= true.crossing <= high, 1.0 if math.isinf(low) else high - low)


def of_effects(n: int, seed: int) -> Iterator[tuple[str, str, Held]]:
    """Everything made of right and wrong alone."""
    rng = np.random.default_rng([seed, n, 11])
    for setting, chances in (("rare effects", (0.02, 0.02, 0.02, 0.08)), ("large effects", (0.05, 0.3, 0.2, 0.7))):
        cells = [rng.random(n) < p for p in chances]
        made = two_by_two(*cells)
        true = chances[0] - chances[1] - chances[2] + chances[3]
        yield "2x2 interaction", setting, (made.low <= true <= made.high, made.high - made.low)
    lengths = rng.geometric(1 / 300, n)
    first, total = lengths <= 256, lengths <= 384
    ends = rng.random(n) < 0.9
    split = np.where(first, ends, rng.random(n) < 0.6)
    coupled = np.where(total, ends, rng.random(n) < 0.2)
    halves = split_sample(split, first, coupled, total, seed=seed, draws=300)
    if halves is not None:
        yield "split sample", "the theory holds", (halves.consistent, halves.high - halves.low)
    level = simultaneous(9)
    family = []
    for _ in range(9):
        u = rng.random(n)
        family.append(difference_interval(u < 0.75, (u < 0.7) | (u > 0.97), level=level))
    true = 0.75 - 0.73
    held = all(low <= true <= high for low, high in family)
    yield "nine differences at once", "5 % and 3 % discordant", (held, min(high - low for low, high in family))
    for part in hazard(lengths, np.ones(n, bool), [1, 101, 301, int(lengths.max()) + 2]).bins[:2]:
        if part.low is not None and part.high is not None:
            yield "hazard", "constant", (part.low <= 1 / 300 <= part.high, part.high - part.low)


SEEDS = 5


def _alike(rng: np.random.Generator, own: np.ndarray, drawn: np.ndarray, kept: float) -> np.ndarray:
    """Answers of several seeds, one after another: a question's own, or with the rest of the chance a new one."""
    return np.where(rng.random(len(drawn)) < kept, np.tile(own, SEEDS), drawn)


def of_seeds(n: int, seed: int) -> Iterator[tuple[str, str, Held]]:
    """n questions, each answered with five seeds that say nearly the same, or nothing alike."""
    rng = np.random.default_rng([seed, n, 17])
    questions, rows = np.tile(np.arange(n), SEEDS), n * SEEDS
    for kept, word in ((0.95, "much alike"), (0.6, "somewhat alike"), (0.0, "not alike")):
        for p in (0.6, 0.97):
            right = _alike(rng, rng.random(n) < p, rng.random(rows) < p, kept)
            found = accuracy(right, questions)
            assert found.low is not None
            assert found.high is not None
            held = found.low <= p <= found.high
            yield f"accuracy, {SEEDS} seeds", f"{p:g}, {word}", (held, found.high - found.low)
        for p, q in ((0.7, 0.7), (0.9, 0.6), (0.97, 0.94)):
            # Half of the questions are as hard for the one as for the other.
            luck = rng.random(n)
            other = np.where(rng.random(n) < 0.5, luck, rng.random(n))
            one = _alike(rng, luck < p, rng.random(rows) < p, kept)
            two = _alike(rng, other < q, rng.random(rows) < q, kept)
            low, high = difference_interval(one, two, questions)
            yield f"difference, {SEEDS} seeds", f"{p:g} and {q:g}, {word}", (low <= p - q <= high, high - low)
        cells = [_alike(rng, rng.random(n) < p, rng.random(rows) < p, kept) for p in (0.05, 0.3, 0.2, 0.7)]
        made = two_by_two(*cells, questions)
        yield f"2x2, {SEEDS} seeds", word, (made.low <= 0.25 <= made.high, made.high - made.low)
        lengths = _alike(rng, rng.geometric(1 / 300, n), rng.geometric(1 / 300, rows), kept)
        low, high = survival(np.minimum(lengths, 1024), lengths <= 1024, questions=questions).band(208)
        yield f"F(208), {SEEDS} seeds", word, (low <= 1 - (1 - 1 / 300) ** 208 <= high, high - low)


def simulated(n: int, repetitions: int, draws: int = 400, laws: Sequence[str] = tuple(LAWS)) -> list[Line]:
    seen: dict[tuple[str, str], list[Held]] = defaultdict(list)
    for law in laws:
        true = truth(law)
        for i in range(repetitions):
            for found in (of_lengths(law, true, n, i), of_sweep(law, true, n, i, draws)):
                for quantity, setting, held in found:
                    seen[quantity, setting].append(held)
    for i in range(repetitions):
        for quantity, setting, held in (*of_effects(n, i), *of_seeds(n, i)):
            seen[quantity, setting].append(held)
    lines = []
    for (quantity, setting), rows in seen.items():
        covered = float(np.mean([held for held, _ in rows]))
        lines.append(Line(quantity, setting, n, covered, min(width for _, width in rows), len(rows)))
    return lines


def rejections(law: str, n: int, repetitions: int) -> float:
    """How often the test of a falling hazard rejects at 5 %: its level where it does not fall, else its power."""
    said = 0
    for i in range(repetitions):
        lengths = _whole(LAWS[law](np.random.default_rng([i, n, 13]), n))
        test = decreasing(np.minimum(lengths, 2048), lengths <= 2048)
        said += test is not None and test.p < 0.05
    return said / repetitions


def _print(quantity: str, setting: str, n: int, share: float, word: str) -> None:
    print(f"{quantity:25} {setting:34} n = {n:<4} {100 * share:6.1f} %  {word}".rstrip(), flush=True)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repetitions", type=int, default=1000)
    options.add_argument("--n", type=int, nargs="+", default=[20, 50, 300])
    chosen = options.parse_args()
    failed = 0
    for n in chosen.n:
        for line in (*shares(n), *pairs(n), *simulated(n, chosen.repetitions)):
            failed += not line.good
            _print(line.quantity, line.setting, n, line.covered, line.word)
        for law in LAWS:
            rate = rejections(law, n, chosen.repetitions)
            high = law not in FALLING and rate > 0.065
            failed += high
            _print("falling hazard rejected", law, n, rate, "OVER" if high else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
