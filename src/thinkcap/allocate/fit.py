"""Fits the allocator and says what it is worth, always on questions it was not fitted on.

    report = cross_validate(pool)
    report.best, report.scores["mlp"].class_accuracy
    allocator = train(report.best, pool)

A small network is the published choice; a straight logistic regression, boosted trees and a constant stand beside
it, and the one with the best held-out log loss is the default. scikit-learn fits; using a fit needs only numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thinkcap.allocate.model import KINDS, Allocator, levels
from thinkcap.core.errors import ConfigError, DataError
from thinkcap.statistics.arrays import Bools, Floats, Ints
from thinkcap.statistics.paired import difference_interval
from thinkcap.statistics.precision import proportion

_FLOOR = 1e-6
"""Chance of a class that no training question had: small, but not impossible."""
Interval = tuple[float, float]


@dataclass(frozen=True)
class Pool:
    """Questions with what every budget did; budget 0 is the answer without thinking."""

    x: Floats
    """(n, 13) features."""
    budgets: tuple[int, ...]
    right: Bools
    """(n, budgets)"""
    tokens: Ints
    """(n, budgets)"""

    def __post_init__(self) -> None:
        shape = (len(self.x), len(self.budgets))
        if self.right.shape != shape or self.tokens.shape != shape or self.budgets[0] != 0:
            raise DataError(f"a pool of {shape[0]} questions needs outcomes of shape {shape}, budget 0 first")

    @property
    def target(self) -> Ints:
        """Least sufficient budget; 0 where none suffices: what cannot be won should cost least."""
        return np.asarray(np.where(self.right.any(axis=1), self.right.argmax(axis=1), 0), dtype=np.int64)

    def take(self, rows: Any) -> Pool:
        return Pool(self.x[rows], self.budgets, self.right[rows], self.tokens[rows])


def train(kind: str, pool: Pool, seed: int = 0) -> Allocator:
    y = pool.target
    mean, scale = pool.x.mean(axis=0), pool.x.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    classes = len(pool.budgets)
    if kind == "constant" or len(set(y.tolist())) < 2:
        share = np.bincount(y, minlength=classes) / len(y)
        return Allocator("constant", pool.budgets, mean, scale, {"logits": np.log(share + _FLOOR)})
    z = (pool.x - mean) / scale
    if kind == "boosting":
        return Allocator(kind, pool.budgets, mean, scale, _boosted(z, y, classes, seed))
    return Allocator(kind, pool.budgets, mean, scale, {"layers": _network(kind, z, y, classes, seed)})


def _sklearn() -> Any:
    try:
        import sklearn.ensemble
        import sklearn.linear_model
        import sklearn.neural_network
    except ImportError as err:
        raise ConfigError(
            f"fitting an allocator needs an extra: pip install 'thinkcap[allocate]' ({err})"
        ) from err
    return sklearn


def _network(kind: str, z: Floats, y: Ints, classes: int, seed: int) -> list[tuple[Floats, Floats]]:
    sklearn = _sklearn()
    if kind == "logistic":
        model = sklearn.linear_model.LogisticRegression(max_iter=2000).fit(z, y)
        weights, biases = model.coef_.T, model.intercept_
        layers = []
    else:
        model = sklearn.neural_network.MLPClassifier(
            (32, 16), alpha=0.01, early_stopping=True, n_iter_no_change=20, max_iter=1000, random_state=seed
        ).fit(z, y)
        *layers, (weights, biases) = zip(model.coefs_, model.intercepts_, strict=True)
    if weights.shape[1] == 1:
        # Two classes have one logit, that of the second.
        weights, biases = np.hstack([0 * weights, weights]), np.concatenate([0 * biases, biases])
    full = np.zeros((weights.shape[0], classes))
    full[:, model.classes_] = weights
    bias = np.full(classes, np.log(_FLOOR))
    bias[model.classes_] = biases
    return [*layers, (full, bias)]


def _boosted(z: Floats, y: Ints, classes: int, seed: int) -> dict[str, Any]:
    model = (
        _sklearn()
        .ensemble.GradientBoostingClassifier(
            n_estimators=40, max_depth=2, learning_rate=0.1, subsample=0.8, random_state=seed
        )
        .fit(z, y)
    )
    seen = model.classes_
    share = np.bincount(y, minlength=classes) / len(y)
    start = np.log(share + _FLOOR)
    rounds = []
    for grown in model.estimators_:
        row: list[Any] = [[[-1, 0, 0, 0, 0.0]] for _ in range(classes)]
        # Two classes are one column of trees: the second against the first.
        for column, tree in zip(seen[1:] if len(seen) == 2 else seen, grown, strict=True):
            row[int(column)] = _nodes(tree.tree_)
        rounds.append(row)
    return {"start": start, "rate": model.learning_rate, "trees": rounds}


def _nodes(tree: Any) -> list[list[float]]:
    columns = zip(tree.feature, tree.threshold, tree.children_left, tree.children_right, strict=True)
    return [
        [int(max(-1, f)), float(t), int(left), int(right), float(v)]
        for (f, t, left, right), v in zip(columns, tree.value[:, 0, 0], strict=True)
    ]


@dataclass(frozen=True)
class Score:
    """One kind of allocator, by predictions for questions outside its fit; intervals are 95 %.

    Tokens count as saved only where the answer is as right as with the largest budget. An allocator that gives
    questions up spends less than any oracle who keeps them, so tokens alone would rank it above the oracle.
    """

    kind: str
    n: int
    log_loss: float
    class_accuracy: float
    class_interval: Interval
    majority: float
    """Share of the commonest class: what a constant gets."""
    tokens: float
    tokens_fixed: float
    """Everybody thinks with the largest budget."""
    tokens_oracle: float
    """Everybody gets the cheapest budget whose answer is as right as with the largest."""
    saved: float
    """Share of the fixed maximum's tokens, saved without losing an answer; never above the oracle's."""
    saved_interval: Interval
    saved_oracle: float
    of_oracle: float | None
    """`saved` of what the oracle saves; None where there is nothing to save."""
    of_oracle_interval: Interval | None
    lost: float
    """Share of questions that are right with the largest budget and wrong with the one given."""
    accuracy: float
    accuracy_fixed: float
    accuracy_oracle: float
    """Right with any budget."""
    kept: float
    """Accuracy minus that of the fixed maximum."""
    kept_interval: Interval

    def to_mapping(self) -> dict[str, Any]:
        """What an allocation's file says of its allocator."""
        names = ("kind", "n", "class_accuracy", "majority", "saved", "saved_oracle", "of_oracle", "lost", "kept")
        return {k: round(v, 4) if isinstance(v := getattr(self, k), float) else v for k in names}


@dataclass(frozen=True)
class CrossValidation:
    scores: Mapping[str, Score]
    best: str
    chances: Mapping[str, Floats]
    """By kind: what fits that did not see a question say of it."""


def cross_validate(pool: Pool, *, folds: int = 5, seed: int = 0, kinds: Sequence[str] = KINDS) -> CrossValidation:
    """Every question is predicted by fits that did not see it."""
    if len(pool.x) < 2 * folds:
        raise DataError(f"{len(pool.x)} questions are too few for {folds} folds; measure more")
    chances = {kind: out_of_fold(kind, pool, folds=folds, seed=seed) for kind in kinds}
    scores = {kind: score(kind, pool, found, levels(found)) for kind, found in chances.items()}
    return CrossValidation(scores, min(scores, key=lambda kind: scores[kind].log_loss), chances)


def out_of_fold(kind: str, pool: Pool, *, folds: int = 5, seed: int = 0) -> Floats:
    part = np.random.default_rng(seed).permutation(len(pool.x)) % folds
    chances = np.zeros((len(pool.x), len(pool.budgets)))
    for fold in range(folds):
        chances[part == fold] = train(kind, pool.take(part != fold), seed).chances(pool.x[part == fold])
    return chances


def score(kind: str, pool: Pool, chances: Floats, given: Ints) -> Score:
    """What the given levels did on a pool they were not fitted on."""
    y, rows = pool.target, np.arange(len(pool.x))
    n = len(y)
    hit, mine, right = given == y, pool.tokens[rows, given], pool.right[rows, given]
    fixed, right_fixed = pool.tokens[:, -1], pool.right[:, -1]
    as_right = pool.right >= right_fixed[:, None]
    cheapest = np.where(as_right, pool.tokens, np.iinfo(np.int64).max).min(axis=1)
    saved = np.where(right >= right_fixed, fixed - mine, 0)
    most = fixed - cheapest
    found = proportion(int(hit.sum()), n)
    share = _ratio(saved, fixed)
    of_oracle = _ratio(saved, most)
    return Score(
        kind,
        n,
        float(-np.log(np.maximum(chances[rows, y], _FLOOR)).mean()),
        float(hit.mean()),
        (found.low or 0.0, found.high or 0.0),
        float(np.bincount(y).max() / n),
        float(mine.mean()),
        float(fixed.mean()),
        float(cheapest.mean()),
        share[0] if share else 0.0,
        share[1] if share else (0.0, 0.0),
        float(most.sum() / max(1, fixed.sum())),
        of_oracle[0] if of_oracle else None,
        of_oracle[1] if of_oracle else None,
        float((right_fixed & ~right).mean()),
        float(right.mean()),
        float(right_fixed.mean()),
        float(pool.right.any(axis=1).mean()),
        float(right.mean() - right_fixed.mean()),
        difference_interval(right, right_fixed),
    )


def _ratio(part: Ints, whole: Ints) -> tuple[float, Interval] | None:
    """Sum over sum with its interval (linearised); None where there is no whole.

    Two imagined questions of the usual size join, one with nothing of it and one with all: agreement of a few
    questions is not certainty.
    """
    size = float(whole.mean())
    if size <= 0:
        return None
    ratio = float(part.sum() / whole.sum())
    values = np.append(ratio + (part - ratio * whole) / size, (0.0, 1.0))
    half = 1.96 * float(values.std()) / len(values) ** 0.5
    centre = float(values.mean())
    return ratio, (min(centre - half, ratio), min(1.0, max(centre + half, ratio)))
