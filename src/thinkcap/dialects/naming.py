"""Dialects by name: of the table, of a file of one's own, or as a model's name suggests.

>>> named("kimi-vl").close_tag
'◁/think▷'
>>> of_model("Qwen/Qwen3-8B").name
'qwen3'
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest
from thinkcap.dialects.dialect import Dialect
from thinkcap.dialects.known import KNOWN, MODELS


def named(name: str) -> Dialect:
    """The dialect a user names in a configuration."""
    if name not in KNOWN:
        raise ConfigError(f"unknown dialect '{name}'{nearest(name, KNOWN)}")
    return KNOWN[name]


def chosen(wanted: str) -> Dialect | None:
    """What a user names: nothing, a known dialect, or a TOML file of their own."""
    if not wanted:
        return None
    if not wanted.endswith(".toml"):
        return replace(named(wanted), found_by="option")
    path = Path(wanted).expanduser()
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"no dialect file at '{path}'; wanted a TOML file with thinking, open_tag and close_tag"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as err:
        raise ConfigError(f"cannot read '{path}' as TOML: {err}") from err
    made = Dialect.from_mapping(said, f"'{path}'")
    return replace(made, found_by="option", name=made.name or path.stem)


def of_model(model: str) -> Dialect | None:
    """What a model's name suggests, for servers that show nothing else."""
    plain = model.rpartition("/")[2].lower()
    name = next((name for pattern, name in MODELS if re.search(pattern, plain)), None)
    return None if name is None else replace(KNOWN[name], found_by="model name")
