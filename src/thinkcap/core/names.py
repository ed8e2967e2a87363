"""From a name on a command line to a Python object: built-in tables, or anyone's `module:attribute`.

>>> resolve("town", {"town": "thinkcap.policies.town:town"}, "policy")   # doctest: +SKIP
"""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from thinkcap.core.errors import ConfigError

LONGEST = 80
"""Characters of somebody's name for a thing that an error repeats."""


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for a close match, otherwise `; known: a, b, c`."""
    known = sorted(known)
    # Strangers type names too, and matching takes time with the square of the length.
    close = difflib.get_close_matches(name[:LONGEST], known, n=1)
    return f"; did you mean '{close[0]}'?" if close else f"; known: {', '.join(known)}"


def pairs(text: str, option: str, wanted: str, known: Iterable[str] | None = None) -> dict[str, str]:
    """`name=value,...` of an option as a table; where names are known, no other is taken."""
    table = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, sign, value = (p.strip() for p in part.partition("="))
        if not sign or not name or not value:
            raise ConfigError(f"{option}: '{part}' is not a pair; wanted {wanted}")
        if known is not None and name not in known:
            raise ConfigError(f"{option}: unknown field '{name}'{nearest(name, known)}")
        table[name] = value
    return table


def guest(module: str) -> Any | None:
    """A module of a room above, asked by name; None where that room is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as err:
        if not module.startswith(err.name or "?"):
            raise
        return None


def resolve(name: str, table: Mapping[str, str], what: str) -> Any:
    """The object behind a built-in name or behind `my.module:thing` (the working folder counts)."""
    if ":" not in name:
        if name not in table:
            raise ConfigError(f"unknown {what} '{name[:LONGEST]}'{nearest(name, table)}")
        return _load(table[name], what)
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return _load(name, what)


def _load(path: str, what: str) -> Any:
    module_name, _, attribute = path.partition(":")
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise ConfigError(f"cannot load {what} '{path[:LONGEST]}'; wanted an importable `module:attribute`")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as err:
        # Our own missing extras explain themselves; a stranger's module gets the plain reason.
        raise ConfigError(
            f"cannot load {what} '{path}': no module named '{err.name}'; "
            f"wanted an importable `module:attribute`, looked in the working folder too"
        ) from err
    if not hasattr(module, attribute):
        public = [n for n in vars(module) if not n.startswith("_")]
        raise ConfigError(f"'{module_name}' has no {what} '{attribute}'{nearest(attribute, public)}")
    return getattr(module, attribute)
