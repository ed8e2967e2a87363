"""What each method does, in the words of its own docstring: the one text behind `thinkcap policies`, the help of
`thinkcap study`, the report's tooltips and docs/methods.md.

>>> about("nothink").summary
'Answer at once, without thinking.'
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import resolve
from thinkcap.policies.registry import EFFORT, POLICIES, defaults_of, options_of

_SUPPLIED = ("prompts", "question")
_PAGE = """\
# The methods

Each method is a way to spend a cap of tokens on one question. In the pictures, the top line counts tokens from
0 to the cap, a `|` begins a stage, and dots are text that the cap may cut. `thinkcap policies NAME` prints the
same text with the options and their defaults. A method with options is written `iris(first=64,answer=32)`.
Every method but `nothink` also takes `effort`, if the model has levels of it: `think(effort=low)`.
`thinkcap study --policy all` compares the methods up to `auto` and the controls, `--policy rivals` those from
`native` to `estimate`, which come from elsewhere ([rivals](rivals.md)). The last four are controls: they belong
in a study, not in a gateway.

This page is written by `thinkcap policies --markdown`.
"""


@dataclass(frozen=True)
class Method:
    name: str
    summary: str
    """One sentence."""
    text: str
    """The picture, how it works and when to use it, without the summary."""
    options: Mapping[str, Any]
    """What a person may set, with the defaults; None where the default follows from the cap."""

    @property
    def explained(self) -> str:
        return f"{self.name}: {self.summary}\n\n{self.text}"


def about(name: str) -> Method:
    """Any policy by its bare name, one of your own (`my.module:mine`) included."""
    doc = inspect.getdoc(resolve(name, POLICIES, "policy"))
    if not doc:
        raise ConfigError(f"policy '{name}' has no docstring to show; add one to its function")
    summary, _, text = doc.partition("\n\n")
    defaults = defaults_of(name)
    options = {
        key: defaults.get(key) for key, kind in options_of(name).items() if kind not in _SUPPLIED and key != EFFORT
    }
    return Method(name, " ".join(summary.split()), text, options)


def summary(policy: str) -> str:
    """One sentence about a policy as rows name it, options and all; nothing about one that is not ours."""
    name = policy.partition("(")[0]
    return about(name).summary if name in POLICIES else ""


def explained(policy: str) -> str:
    """As `thinkcap policies NAME` prints it, of a policy as rows name it; nothing about one that is not ours."""
    name = policy.partition("(")[0]
    return about(name).explained if name in POLICIES else ""


def page() -> str:
    """docs/methods.md."""
    controls = [name for name, where in POLICIES.items() if ".controls:" in where]
    names = [name for name in POLICIES if name not in controls] + controls
    found = [about(name) for name in names]
    return "\n".join([_PAGE, *(f"## {m.name}\n\n{m.summary}\n\n{m.text}\n" for m in found)])
