"""What a study is: tasks x policies x budgets x seeds on one model, from options or a TOML file.

config = StudyConfig.from_mapping({"model": "bundled", "budgets": "64:512:64"})
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from thinkcap.core.errors import ConfigError
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import EMPTY
from thinkcap.engines.served import BackendName, ServeWith
from thinkcap.policies.registry import PolicySpec
from thinkcap.settings import FilePath, Text, inside, table_of, values
from thinkcap.study.folders import RUNS, run_name
from thinkcap.study.values import (
    FREE,
    Budgets,
    Names,
    Plans,
    PolicyPlan,
    Price,
    QuestionCount,
    Seeds,
    Texts,
    parse_budgets,
    policy_plans,
)

DENSE = "32,48,64,96,128,192,256,320,384,448,512,640,768,1024,1536,2048"
"""The default grid: sixteen budgets, dense where the bundled model's curves bend."""


_ALWAYS = (
    *("model", "tasks", "budgets", "offset", "seeds", "temperature", "top_p", "concurrency", "online"),
    *("nothink_by", "verify_prefix"),
)
"""Settings that a written study names even where nobody did; others only where they were set."""
_WRITTEN = ("out", "policies", "price", "prompts", "actors", "cpus", "gpus")
"""Settings that are written in a form of their own."""


@dataclass(frozen=True)
class StudyConfig:
    model: Text = "bundled"
    tasks: Names = ("families",)
    data: FilePath | None = None
    map: Mapping[str, str] = EMPTY
    """Columns of a file of one's own questions by role, `question` and `gold` above all."""
    kind: Text | None = None
    """How the golds of such a file compare; guessed from them where None."""
    policies: Plans = (
        PolicyPlan(PolicySpec("nothink")),
        PolicyPlan(PolicySpec("think")),
        PolicyPlan(PolicySpec("think[heuristic]")),
        PolicyPlan(PolicySpec("close")),
    )
    budgets: Budgets = ()
    limit: Annotated[int, Meta(ge=1, description="a number of questions")] | None = None
    offset: QuestionCount = 0
    seeds: Seeds = (0,)
    temperature: Annotated[float, Meta(ge=0, le=5)] = 0.0
    top_p: Annotated[float, Meta(ge=0.001, le=1)] = 1.0
    sampling: Literal["", "recommended"] = ""
    """`recommended`: as the model's makers want it sampled; else `temperature` and `top_p` count."""
    concurrency: Annotated[int, Meta(ge=0, description="a number of flows")] = 0
    """Flows at a time; 0 takes what the engine's card advises."""
    out: FilePath | None = None
    """Folder of the run; one named for the study where None."""
    online: bool = False
    """Generate every cell at its own budget instead of cutting stored traces."""
    serve_with: BackendName | None = None
    """The server that is started for this study and stopped after it; where None, none is."""
    serve_args: Text = ""
    """Further words for that server's command line."""
    nothink_by: Literal["auto", "native", "block", "prompt"] = "auto"
    dialect: Text = ""
    """How the model thinks, by name or as a TOML file; found out where empty."""
    timeout_s: Annotated[float, Meta(ge=0.001, le=1e6)] | None = None
    """For one request to a server, all its tries included; the engine's own patience where None."""
    cluster: Text | None = None
    """Ray cluster to run the engines on: `auto`, `local` or an address."""
    actors: Annotated[int, Meta(ge=0, description="a number of engines")] = 0
    """Engines on the cluster; 0 fills it, nodes that join included."""
    cpus: Annotated[float, Meta(ge=0, le=1e4)] = 1.0
    gpus: Annotated[float, Meta(ge=0, le=1e3)] = 0.0
    """What one engine on the cluster is given."""
    verify_prefix: QuestionCount = 0
    max_cost: Annotated[float, Meta(ge=0, le=1e12)] | None = None
    price: Price = FREE
    prompts: Texts = field(default=PROMPTS)

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

    def server(self) -> ServeWith | None:
        """What is to be started first, with its log beside the rows."""
        return ServeWith.wished(self.serve_with, self.serve_args, self.folder / "server.log")

    @classmethod
    def from_file(cls, path: Path) -> StudyConfig:
        table = table_of(path, "the study", "wanted a TOML file such as the study.toml in a run's folder")
        with inside(f"the study '{path}'"):
            return cls.from_mapping(table)

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> StudyConfig:
        """Checks every key and value; `policy`, the tables of a file, and `policies` say the same."""
        given = dict(table)
        plans: list[PolicyPlan] = []
        named = given.keys() & {"policies", "policy"}
        for key in ("policies", "policy"):
            if key in given:
                with inside(key):
                    plans += policy_plans(given.pop(key))
        found = values(cls, given, also=("policy",))
        if found.get("sampling") and (found.get("temperature") or found.get("top_p", 1.0) != 1.0):
            raise ConfigError(
                "sampling = 'recommended' and a temperature or top_p were both given; leave out one of them"
            )
        if named:
            found["policies"] = tuple(plans)
        return replace(cls(), **found)

    def to_mapping(self) -> dict[str, Any]:
        """The resolved study as plain values, ready for TOML; what is unset is left out."""
        return {"out": str(self.folder), **self._plain()}

    def _plain(self) -> dict[str, Any]:
        plain = {
            f.name: list(value)
            if isinstance(value, tuple)
            else dict(value)
            if isinstance(value, Mapping)
            else value
            for f in fields(self)
            if f.name not in _WRITTEN and ((value := getattr(self, f.name)) != f.default or f.name in _ALWAYS)
        }
        if self.data is not None:
            plain["data"] = str(self.data)
        if self.cluster:
            plain |= {"actors": self.actors, "cpus": self.cpus, "gpus": self.gpus}
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
