"""When to stop thinking: a table that says, at each checkpoint and for each of three signals a running chain may
show, whether to answer now or to go on. `stop_fit` fits one; without numpy, since every `ask` may read it.

    rule = Stopping.from_mapping(table)
    rule.stops(128, signal=2, limit=256)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thinkcap.allocate.signals import NAMES
from thinkcap.core.errors import ConfigError

SIGNALS = len(NAMES)


@dataclass(frozen=True)
class StopCheck:
    """What the fit saw and chose at one checkpoint for one signal, under one limit."""

    chains: int
    ends: float
    """Chance to end before the next checkpoint."""
    now: float
    """Worth of answering now, the price of tokens taken off."""
    on: float
    """Worth of going on and choosing best from there."""

    @property
    def stop(self) -> bool:
        return self.now >= self.on


@dataclass(frozen=True)
class StopRule:
    """Up to `limit` tokens of thought: one row a checkpoint below it, one entry a signal."""

    limit: int
    checks: tuple[tuple[StopCheck, ...], ...]


@dataclass(frozen=True)
class Stopping:
    checkpoints: tuple[int, ...]
    rules: tuple[StopRule, ...] = ()
    """One a limit, growing; none: stop where the chain loops."""
    price: float = 0.0
    """Accuracy one token must bring to be worth it."""

    def __post_init__(self) -> None:
        if list(self.checkpoints) != sorted(set(self.checkpoints)) or any(c < 1 for c in self.checkpoints):
            raise ConfigError(f"checkpoints must grow from 1 on, saw {list(self.checkpoints)}")

    def stops(self, at: int, signal: int, limit: int) -> bool:
        """Whether a chain that shows `signal` at `at` ends here, when `limit` is the most it may have."""
        if not self.rules:
            return signal == SIGNALS - 1
        fitting = [rule for rule in self.rules if rule.limit <= limit] or [self.rules[0]]
        checks = fitting[-1].checks
        i = self.checkpoints.index(at) if at in self.checkpoints else -1
        # Beyond the last checkpoint a rule was fitted for nothing is known, except that a loop is a loop.
        return checks[i][signal].stop if 0 <= i < len(checks) else signal == SIGNALS - 1

    def to_mapping(self) -> dict[str, Any]:
        return {
            "checkpoints": list(self.checkpoints),
            "price": self.price,
            "signals": list(NAMES),
            "rules": [
                {
                    "limit": rule.limit,
                    "stop": [[c.stop for c in row] for row in rule.checks],
                    "chains": [[c.chains for c in row] for row in rule.checks],
                    "ends": [[round(c.ends, 4) for c in row] for row in rule.checks],
                    "now": [[round(c.now, 4) for c in row] for row in rule.checks],
                    "on": [[round(c.on, 4) for c in row] for row in rule.checks],
                }
                for rule in self.rules
            ],
        }

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> Stopping:
        try:
            rules = tuple(
                StopRule(
                    int(rule["limit"]),
                    tuple(
                        _signals(tuple(_check(*entry) for entry in zip(*columns, strict=True)))
                        for columns in zip(
                            *(rule[key] for key in ("stop", "chains", "ends", "now", "on")), strict=True
                        )
                    ),
                )
                for rule in table["rules"]
            )
            return cls(tuple(int(c) for c in table["checkpoints"]), rules, float(table.get("price", 0.0)))
        except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as err:
            raise ConfigError(f"the table of stops is not as `calibrate` writes it: {err!r}") from err


def _signals(checks: tuple[StopCheck, ...]) -> tuple[StopCheck, ...]:
    if len(checks) != SIGNALS:
        raise ValueError(f"a checkpoint with {len(checks)} signals; wanted {SIGNALS}")
    return checks


def _check(stop: bool, chains: int, ends: float, now: float, on: float) -> StopCheck:
    # Somebody may have edited the decision: it counts, whatever the worths beside it say.
    if stop != (now >= on):
        now, on = (1.0, 0.0) if stop else (0.0, 1.0)
    return StopCheck(int(chains), float(ends), float(now), float(on))


DEFAULT = Stopping((64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384))
"""Where no study was made: look at every doubling, stop a chain that loops."""
