"""What a study is: tasks x policies x budgets x seeds on one model, from options or a TOML file.

config = StudyConfig.from_mapping({"model": "bundled", "budgets": "64:512:64"})
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.policies.registry import PolicySpec
from thinkcap.study.folders import RUNS, run_name
from thinkcap.study.values import FREE, READERS, PolicyPlan, Price, parse_budgets, policy_plans

DENSE = "32,48,64,96,128,192,256,320,384,448,512,640,768,1024,1536,2048"
"""The default grid: sixteen budgets, dense where the bundled model's curves bend."""


@dataclass(frozen=True)
class StudyConfig:
    model: str = "bundled"
    tasks: tuple[str, ...] = ("families",)
    data: Path | None = None
    policies: tuple[PolicyPlan, ...] = (
        PolicyPlan(PolicySpec("nothink")),
        PolicyPlan(PolicySpec("think")),
        PolicyPlan(PolicySpec("think[heuristic]")),
        PolicyPlan(PolicySpec("close")),
    )
    budgets: tuple[int, ...] = ()
    limit: int | None = None
    offset: int = 0
    seeds: tuple[int, ...] = (0,)
    temperature: float = 0.0
    top_p: float = 1.0
    concurrency: int = 0
    """Flows at a time; 0 takes what the engine's card advises."""
    out: Path | None = None
    """Folder of the run; one named for the study where None."""
    online: bool = False
    """Generate every cell at its own budget instead of cutting stored traces."""
    nothink_by: str = "auto"
    dialect: str = ""
    """How the model thinks, by name or as a TOML file; found out where empty."""
    timeout_s: float | None = None
    """For one request to a server, all its tries included; the engine's own patience where None."""
    cluster: str | None = None
    """Ray cluster to run the engines on: `auto`, `local` or an address."""
    actors: int = 0
    """Engines on the cluster; 0 fills it, nodes that join included."""
    cpus: float = 1.0
    gpus: float = 0.0
    """What one engine on the cluster is given."""
    verify_prefix: int = 0
    max_cost: float | None = None
    price: Price = FREE
    prompts: Prompts = field(default=PROMPTS)

    def __post_init__(self) -> None:
        if not self.budgets:
            object.__setattr__(self, "budgets", parse_budgets(DENSE))

    @property
    def folder(self) -> Path:
        """Where the run lies: the same settings always find it again."""
        return self.out or RUNS / run_name(self._plain())

    @property
    def cells(self) -> list[tuple[PolicySpec, int]]:
        """(policy, budget) pairs, largest budget first: what is generated there serves all smaller ones."""
        pairs = [(plan.spec, b) for plan in self.policies for b in plan.budgets or self.budgets]
        return sorted(pairs, key=lambda pair: -pair[1])

    def engine_options(self) -> dict[str, Any]:
        """What the engine must know of the study; engines refuse what they do not take."""
        options: dict[str, Any] = {"nothink_by": self.nothink_by, "prompts": self.prompts}
        if self.dialect:
            options["dialect"] = self.dialect
        if self.concurrency:
            options["concurrency"] = self.concurrency
        if self.timeout_s is not None:
            options["timeout_s"] = self.timeout_s
        if self.cluster:
            options |= {"cluster": self.cluster, "actors": self.actors, "cpus": self.cpus, "gpus": self.gpus}
        return options

    @classmethod
    def from_file(cls, path: Path) -> StudyConfig:
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ConfigError(
                f"no study file at '{path}'; wanted a TOML file such as the study.toml in a run's folder"
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as err:
            raise ConfigError(f"cannot read '{path}' as TOML: {err}") from err
        return cls.from_mapping(values, where=f" in '{path}'")

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], where: str = "") -> StudyConfig:
        """Checks every key and value; refuses what it does not know, with the nearest it does."""
        known = [f.name for f in fields(cls)] + ["policy"]
        ready: dict[str, Any] = {}
        for key, value in values.items():
            if key not in known:
                raise ConfigError(f"unknown key '{key}'{where}{nearest(key, known)}")
            try:
                if key in ("policies", "policy"):
                    ready["policies"] = (*ready.get("policies", ()), *policy_plans(value))
                else:
                    ready[key] = READERS[key](value)
            except ConfigError as err:
                raise ConfigError(f"{key}: {err}{where}") from err
        return replace(cls(), **ready)

    def to_mapping(self) -> dict[str, Any]:
        """The resolved study as plain values, ready for TOML; what is unset is left out."""
        return {"out": str(self.folder), **self._plain()}

    def _plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "model": self.model,
            "tasks": list(self.tasks),
            "budgets": list(self.budgets),
            "offset": self.offset,
            "seeds": list(self.seeds),
            "temperature": self.temperature,
            "top_p": self.top_p,
            "concurrency": self.concurrency,
            "online": self.online,
            "nothink_by": self.nothink_by,
            "verify_prefix": self.verify_prefix,
        }
        for name, value in (
            ("data", self.data),
            ("limit", self.limit),
            ("max_cost", self.max_cost),
            ("timeout_s", self.timeout_s),
        ):
            if value is not None:
                plain[name] = str(value) if isinstance(value, Path) else value
        if self.dialect:
            plain["dialect"] = self.dialect
        if self.cluster:
            plain |= {"cluster": self.cluster, "actors": self.actors, "cpus": self.cpus, "gpus": self.gpus}
        if self.price != FREE:
            plain["price"] = {f.name: getattr(self.price, f.name) for f in fields(Price)}
        changed = {
            f.name: getattr(self.prompts, f.name)
            for f in fields(Prompts)
            if getattr(self.prompts, f.name) != getattr(PROMPTS, f.name)
        }
        if changed:
            plain["prompts"] = {k: dict(v) if isinstance(v, Mapping) else v for k, v in changed.items()}
        plain["policy"] = [
            {**p.spec.to_table(), **({"budgets": list(p.budgets)} if p.budgets else {})} for p in self.policies
        ]
        return plain
