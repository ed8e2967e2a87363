"""From a word such as `iris`, `town(first=64)` or `my.module:mine` to a policy ready to run.

>>> parse("town(first=64, second=128)").label
'town(first=64,second=128)'
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Policy, at_effort
from thinkcap.core.names import nearest, resolve
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import EMPTY, Mode, Question
from thinkcap.policies.facts import Declared, Facts
from thinkcap.policies.syntax import read, read_list, written

_TABLE: dict[str, str] = {
    "nothink": "thinkcap.policies.nothink:nothink",
    "think": "thinkcap.policies.think:think",
    "think[heuristic]": "thinkcap.policies.think:think_heuristic",
    "think[projection]": "thinkcap.policies.think:think_projection",
    "close": "thinkcap.policies.close:close",
    "generous": "thinkcap.policies.close:generous",
    "split": "thinkcap.policies.split:split",
    "town": "thinkcap.policies.town:town",
    "town_plus": "thinkcap.policies.town:town_plus",
    "iris": "thinkcap.policies.iris:iris",
    "iris_plus": "thinkcap.policies.iris:iris_plus",
    "mrsd": "thinkcap.policies.mrsd:mrsd",
    "vote": "thinkcap.policies.vote:vote",
    "gate": "thinkcap.policies.gate:gate",
    "weighted_vote": "thinkcap.policies.weighted_vote:weighted_vote",
    "two_pass": "thinkcap.policies.controls:two_pass",
    "no_trace": "thinkcap.policies.controls:no_trace",
    "think_on_trace": "thinkcap.policies.controls:think_on_trace",
    "placebo": "thinkcap.policies.controls:placebo",
    "stop": "thinkcap.policies.stop:stop",
    "auto": "thinkcap.policies.auto:auto",
}
_RIVALS: dict[str, str] = {
    "native": "thinkcap.policies.native:native",
    "wait": "thinkcap.policies.wait:wait",
    "sure": "thinkcap.policies.sure:sure",
    "agree": "thinkcap.policies.agree:agree",
    "settle": "thinkcap.policies.settle:settle",
    "steady": "thinkcap.policies.steady:steady",
    "trust": "thinkcap.policies.trust:trust",
    "trust_stop": "thinkcap.policies.trust:trust_stop",
    "shortest": "thinkcap.policies.shortest:shortest",
    "skip": "thinkcap.policies.skip:skip",
    "skip_vote": "thinkcap.policies.skip:skip_vote",
    "estimate": "thinkcap.policies.estimate:estimate",
}
"""Methods of others, charged as ours are. Both tables in the order a person reads them."""
EFFORT = "effort"
"""An option of every policy that thinks: the level, of the model's own, at which it thinks."""
_NO_POLICIES = ("controls", "facts", "methods", "registry", "stages", "syntax", "trials")


def _files(folder: Path) -> dict[str, str]:
    """Policies whose file has their name: a new one needs no line here."""
    here = sorted(path.stem for path in folder.glob("[a-z]*.py") if path.stem not in _NO_POLICIES)
    return {name: f"thinkcap.policies.{name}:{name}" for name in here}


RIVALS: tuple[str, ...] = tuple(_RIVALS)
POLICIES: Mapping[str, str] = MappingProxyType(_TABLE | _RIVALS | _files(Path(__file__).parent))


@dataclass(frozen=True)
class PolicySpec:
    """A policy by name with its options; a policy among the options is a spec of its own, or its bare name."""

    name: str
    options: Mapping[str, Any] = EMPTY

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> PolicySpec:
        """From a TOML table; a policy inside it is a table with a `name` too, or a text such as iris(first=64)."""
        if not isinstance(table.get("name"), str):
            raise ConfigError(f"cannot read policy {dict(table)!r}; wanted a name or a table with a 'name'")
        options = {
            key: cls.from_table(value) if isinstance(value, Mapping) else value
            for key, value in table.items()
            if key != "name"
        }
        return check(cls(table["name"], MappingProxyType(options)))

    @cached_property
    def label(self) -> str:
        """The text that reads as this spec again."""
        inside = ",".join(f"{key}={written(value)}" for key, value in self.options.items())
        return f"{self.name}({inside})" if inside else self.name

    @cached_property
    def facts(self) -> Facts:
        return _declared(self)

    def __str__(self) -> str:
        return self.label

    def to_table(self) -> dict[str, Any]:
        """What `from_table` takes."""
        inside = {k: v.to_table() if isinstance(v, PolicySpec) else v for k, v in self.options.items()}
        return {"name": self.name, **inside}

    def bind(self, prompts: Prompts = PROMPTS, other: Question | None = None) -> Policy:
        """Ready to run. It and every policy inside it get the prompts, and the other question if need be."""
        check(self)
        known = options_of(self.name)
        given: dict[str, Any] = {}
        for key, value in self.options.items():
            given[key] = as_spec(value).bind(prompts, other) if known[key] == "policy" else value
        # Whoever takes it as an option of their own is handed it.
        level = "" if EFFORT in defaults_of(self.name) else given.pop(EFFORT, "")
        if "prompts" in known:
            given["prompts"] = prompts
        if _wants_question(self.name):
            if other is None:
                raise ConfigError(f"policy '{self.name}' needs a second question; run it in a study")
            given["other"] = other
        bound = partial(_function(self.name), **given)
        return at_effort(bound, level) if level else bound


def check(spec: PolicySpec) -> PolicySpec:
    """The spec, its nested policies read. Unknown names and options are refused with the nearest known one, and
    values of the wrong type too."""
    known = options_of(spec.name)
    settable = [key for key, kind in known.items() if kind not in _OURS]
    ready: dict[str, Any] = {}
    for key, value in spec.options.items():
        if key not in settable:
            raise ConfigError(f"policy '{spec.name}' has no option '{key}'{nearest(key, settable)}")
        wanted, fits = _KINDS[known[key]]
        if not fits(value):
            raise ConfigError(f"policy '{spec.name}': option '{key}' must be {wanted}, saw '{str(value)[:80]}'")
        ready[key] = value
        if known[key] == "policy":
            inner = check(as_spec(value))
            ready[key] = inner if inner.options else inner.name
    return PolicySpec(spec.name, MappingProxyType(ready)) if ready else spec


def wants_other(spec: PolicySpec) -> bool:
    """Whether it, or a policy inside it, needs a second question."""
    known = options_of(spec.name)
    inside = [as_spec(value) for key, value in spec.options.items() if known.get(key) == "policy"]
    return _wants_question(spec.name) or any(map(wants_other, inside))


def facts(spec: PolicySpec) -> Facts:
    """What the policy's own file declares of it; the cautious defaults where it declares nothing."""
    return spec.facts


def _declared(spec: PolicySpec) -> Facts:
    function = _function(spec.name)
    declared: Declared = getattr(inspect.getmodule(function), "FACTS", {})
    found = declared.get(getattr(function, "__name__", ""), Facts())
    if isinstance(found, Facts):
        return found
    known = options_of(spec.name)
    given = {key: facts(as_spec(v)) if known.get(key) == "policy" else v for key, v in spec.options.items()}
    return found({**defaults_of(spec.name), **given})


@lru_cache(maxsize=512)
def declared(name: str) -> Facts:
    """The facts of a policy by its bare name; none where only a log knows it."""
    return facts(PolicySpec(name)) if name in POLICIES else Facts()


def policy(word: str, prompts: Prompts = PROMPTS) -> Policy:
    return parse(word).bind(prompts)


def parse(word: str) -> PolicySpec:
    return check(read(word, PolicySpec))


def parse_list(text: str) -> list[PolicySpec]:
    """`a,b(c=1,d=2)`, `all` for the paper's methods, their controls and ours, or `rivals` for those of others."""
    if text.strip() in ("all", "rivals"):
        return [PolicySpec(name) for name in POLICIES if (name in RIVALS) == (text.strip() == "rivals")]
    specs = [check(spec) for spec in read_list(text, PolicySpec)]
    if not specs:
        raise ConfigError("no policy named; give for example --policy nothink,think,iris or --policy all")
    return specs


def as_spec(value: Any) -> PolicySpec:
    return value if isinstance(value, PolicySpec) else read(value, PolicySpec)


def _wants_question(name: str) -> bool:
    return options_of(name).get("other") == "question"


_KINDS: Mapping[str, tuple[str, Callable[[Any], bool]]] = MappingProxyType(
    {
        "int": ("a whole number of at least 0", lambda v: type(v) is int and v >= 0),
        "float": ("a number", lambda v: type(v) in (int, float) and math.isfinite(v)),
        "bool": ("true or false", lambda v: type(v) is bool),
        "str": ("a word, or a text in quotes", lambda v: isinstance(v, str)),
        "mode": ("think or nothink", lambda v: v in ("think", "nothink")),
        "policy": ("a policy such as iris or iris(first=64)", lambda v: isinstance(v, str | PolicySpec)),
        # Kinds of a stranger's policy beyond these are its own affair.
        "any": ("", lambda _: True),
    }
)
_OURS = ("prompts", "question")
"""What a study hands to a policy; not for a person to write."""


@lru_cache(maxsize=128)
def _function(name: str) -> Any:
    function = resolve(name, POLICIES, "policy")
    if not callable(function):
        raise ConfigError(f"policy '{name}' is not callable; wanted a function (question, cap) -> flow")
    return function


@lru_cache(maxsize=128)
def options_of(name: str) -> Mapping[str, str]:
    """Option names with the kind of value each takes: int, float, bool, str, mode, policy, or what we supply."""
    parameters = list(inspect.signature(_function(name)).parameters.values())
    if len(parameters) < 2:
        raise ConfigError(f"policy '{name}' must take a question and a cap, as in: def mine(question, cap): ...")
    ours = {} if name == "nothink" else {EFFORT: "str"}
    return MappingProxyType(ours | {p.name: _kind(p.annotation) for p in parameters[2:]})


@lru_cache(maxsize=128)
def defaults_of(name: str) -> Mapping[str, Any]:
    parameters = inspect.signature(_function(name)).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


def _kind(annotation: Any) -> str:
    """From the annotation as it is written; whatever is not one of ours may be anything."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "") or str(annotation)
    text = text.replace("Optional[", "").removesuffix("]").removesuffix(" | None").rpartition(".")[2].lower()
    if annotation == Mode:
        return "mode"
    return text if text in (*_KINDS, *_OURS) else "any"


__all__ = [
    "POLICIES",
    "RIVALS",
    "PolicySpec",
    "as_spec",
    "check",
    "declared",
    "defaults_of",
    "facts",
    "options_of",
    "parse",
    "parse_list",
    "policy",
    "wants_other",
]
