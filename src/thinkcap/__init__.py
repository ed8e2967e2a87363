"""The best answer a thinking model can give under a token cap: measure, diagnose, serve.

import thinkcap
thinkcap.ask("What is 48 * 57 + 9?", cap=512).answer                  # 2745
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thinkcap.api import Reply, ask, study
    from thinkcap.core.engine import Engine
    from thinkcap.core.errors import ThinkcapError
    from thinkcap.core.flow import Flow, ask_all, same
    from thinkcap.core.flow import ask as request
    from thinkcap.core.types import Answer, Completion, Question, Request
    from thinkcap.outputs import equal, extract

_HOME = {
    "Reply": "thinkcap.api",
    "ask": "thinkcap.api",
    "study": "thinkcap.api",
    "Engine": "thinkcap.core.engine",
    "ThinkcapError": "thinkcap.core.errors",
    "Flow": "thinkcap.core.flow",
    "ask_all": "thinkcap.core.flow",
    "same": "thinkcap.core.flow",
    "Answer": "thinkcap.core.types",
    "Completion": "thinkcap.core.types",
    "Question": "thinkcap.core.types",
    "Request": "thinkcap.core.types",
    "equal": "thinkcap.outputs",
    "extract": "thinkcap.outputs",
}

__all__ = [
    "Answer",
    "Completion",
    "Engine",
    "Flow",
    "Question",
    "Reply",
    "Request",
    "ThinkcapError",
    "ask",
    "ask_all",
    "equal",
    "extract",
    "request",
    "same",
    "study",
]


def __getattr__(name: str) -> Any:
    # Names are loaded when first used, so that `thinkcap --help` pays for none of them.
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("thinkcap")
    if name == "request":
        return importlib.import_module("thinkcap.core.flow").ask
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'thinkcap' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


class _Package(types.ModuleType):
    """Importing the room `study` sets an attribute of that name, which would hide the function people call."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
