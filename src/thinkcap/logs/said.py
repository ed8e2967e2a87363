"""What the reader of a log says about it that the log does not, and what a format gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from thinkcap.core.errors import ConfigError
from thinkcap.logs.arms import Arm
from thinkcap.logs.models import same_model
from thinkcap.logs.modes import read_mode


class Found(NamedTuple):
    arms: list[Arm]
    notes: list[str]


@dataclass(frozen=True)
class Said:
    """--map, --as, --budget, --model, --set, --dialect and --accept-grades."""

    columns: Mapping[str, str] = field(default_factory=dict)
    policy: str | None = None
    budget: int | None = None
    only: str | None = None
    """Rows of this model alone."""
    named: Mapping[str, str] = field(default_factory=dict)
    """model, task and mode of logs that do not tell."""
    dialect: str = ""
    """How thoughts are marked: a known dialect or a TOML file; empty: as the log shows."""
    accept_grades: bool = False
    """Keep our grades even if they contradict most of the log's verdicts."""

    @property
    def mode(self) -> str | None:
        """The mode --set names, as we write it."""
        if "mode" not in self.named:
            return None
        found = read_mode(self.named["mode"])
        if found is None:
            raise ConfigError(f"--set: mode '{self.named['mode']}' is unknown; wanted think or nothink")
        return found.mode

    def wants(self, model: str) -> bool:
        return self.only is None or same_model(model) == same_model(self.only)


def served_as(model: str) -> tuple[str, str | None]:
    """Model and policy from a name of our own gateway, `NAME+POLICY`; other names pass as they are.

    >>> served_as("local/pebble+nothink"), served_as("c4ai/command-r+")
    (('local/pebble', 'nothink'), ('c4ai/command-r+', None))
    """
    from thinkcap.policies.registry import POLICIES

    name, _, policy = model.rpartition("+")
    return (name, policy) if name and policy.partition("(")[0] in POLICIES else (model, None)
