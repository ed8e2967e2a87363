"""The learned allocator as numbers in a small JSON file: inspectable, and numpy alone runs it.

allocator = Allocator.from_mapping(json.loads(text))
allocator.budget("What is 12 * 7?", sure=0.8)          # 0: do not think
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinkcap.allocate.features import NAMES, features
from thinkcap.core.errors import ConfigError
from thinkcap.statistics.arrays import Floats, Ints

KINDS = ("mlp", "logistic", "boosting", "constant")
_DIGITS = 6


@dataclass(frozen=True)
class Allocator:
    """Chances that a budget of `budgets` is the least sufficient one; budget 0 means no thinking."""

    kind: str
    budgets: tuple[int, ...]
    mean: Floats
    scale: Floats
    parameters: Mapping[str, Any]
    """mlp, logistic: `layers` of weights and biases. boosting: `start`, `rate`, `trees`. constant: `logits`."""

    def chances(self, x: Floats) -> Floats:
        """(n, 13) features -> (n, budgets) chances."""
        z = (np.atleast_2d(x) - self.mean) / self.scale
        logits = _RUN[self.kind](self.parameters, z)
        raised = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=np.float64)

    def levels(self, x: Floats, sure: float | None = None) -> Ints:
        """Index into `budgets`: the likeliest, or the least that suffices with chance `sure`."""
        return levels(self.chances(x), sure)

    def budget(self, text: str, sure: float | None = None) -> int:
        return self.budgets[int(self.levels(features(text), sure)[0])]

    def to_mapping(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "features": list(NAMES),
            "budgets": list(self.budgets),
            "mean": _plain(self.mean),
            "scale": _plain(self.scale),
            "parameters": _plain(self.parameters),
        }

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> Allocator:
        try:
            if tuple(table["features"]) != NAMES:
                raise ConfigError("the allocator was fitted on other features; fit it again with this version")
            if table["kind"] not in KINDS:
                raise ConfigError(f"unknown kind of allocator '{table['kind']}'; wanted one of {', '.join(KINDS)}")
            found = cls(
                str(table["kind"]),
                tuple(int(b) for b in table["budgets"]),
                np.array(table["mean"], dtype=np.float64),
                np.array(table["scale"], dtype=np.float64),
                dict(table["parameters"]),
            )
            wanted = (1, len(found.budgets))
            chances = found.chances(np.zeros((1, len(NAMES))))
            if chances.shape != wanted or not np.isfinite(chances).all() or min(found.budgets) < 0:
                raise ValueError(f"it gives no {wanted[1]} chances of budgets from 0 on")
            return found
        except (TypeError, ValueError, LookupError, ArithmeticError, RecursionError, AttributeError) as err:
            raise ConfigError(f"the allocator's numbers cannot be read: {err!r}") from err


def levels(chances: Floats, sure: float | None = None) -> Ints:
    if sure is None:
        return np.asarray(chances.argmax(axis=1), dtype=np.int64)
    reached = chances.cumsum(axis=1) >= min(sure, 1 - 1e-9)
    return np.asarray(reached.argmax(axis=1), dtype=np.int64)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _layers(parameters: Mapping[str, Any], z: Floats) -> Floats:
    layers: Sequence[Any] = parameters["layers"]
    for depth, (weights, biases) in enumerate(layers):
        z = z @ np.asarray(weights, dtype=np.float64) + np.asarray(biases, dtype=np.float64)
        if depth + 1 < len(layers):
            z = np.maximum(z, 0.0)
    return z


def _trees(parameters: Mapping[str, Any], z: Floats) -> Floats:
    """Rounds x classes of trees; a node is [feature, threshold, left, right, value], feature -1 a leaf."""
    logits = np.tile(np.asarray(parameters["start"], dtype=np.float64), (len(z), 1))
    # The trees were grown on single precision; at a threshold the rounding decides.
    single = z.astype(np.float32)
    for round_ in parameters["trees"]:
        for column, tree in enumerate(round_):
            logits[:, column] += parameters["rate"] * _leaves(np.asarray(tree, dtype=np.float64), single)
    return logits


def _leaves(tree: Floats, z: NDArray[np.float32]) -> Floats:
    """All rows go down together, until none moves."""
    at = np.zeros(len(z), dtype=np.int64)
    for _ in range(len(tree)):  # a tree that leads back to its own nodes has no leaf to give
        feature = tree[at, 0].astype(np.int64)
        inner = feature >= 0
        if not inner.any():
            return np.asarray(tree[at, 4], dtype=np.float64)
        left = z[np.arange(len(z)), np.maximum(feature, 0)] <= tree[at, 1]
        at = np.where(inner, np.where(left, tree[at, 2], tree[at, 3]), at).astype(np.int64)
    raise ValueError("a tree that leads in a circle")


def _constant(parameters: Mapping[str, Any], z: Floats) -> Floats:
    return np.tile(np.asarray(parameters["logits"], dtype=np.float64), (len(z), 1))


_RUN = {"mlp": _layers, "logistic": _layers, "boosting": _trees, "constant": _constant}
