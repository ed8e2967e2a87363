"""One reader for every file a person writes or edits: studies, gateways, profiles, allocations.

A file is a frozen dataclass whose annotations say what may stand in it. Every mistake becomes one line: where it
is, what was wanted, what was seen, and the nearest name where one is unknown.

    @dataclass(frozen=True)
    class Serve:
        port: Annotated[int, Meta(ge=0, le=65535)] = 8080

    load(Serve, {"prot": 1})     # ConfigError: unknown key 'prot'; did you mean 'port'?
    load(Serve, {"port": "x"})   # ConfigError: port: wanted a whole number from 0 to 65535, saw 'x'
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest

T = TypeVar("T")
_LONGEST = 120
"""Characters of a wrong value that an error repeats."""


@dataclass(frozen=True)
class Read:
    """Annotates a value that has a notation of its own, such as budgets written `64:1024:64`."""

    by: Callable[[Any], Any]
    wanted: str = "a value"
    """In words, for an error that finds none."""


def _path(value: Any) -> Path:
    if not isinstance(value, str | Path) or not str(value):
        raise ConfigError(f"wanted the path of a file or folder, saw {_seen(value)}")
    return Path(value)


Text = Annotated[str, Meta(min_length=1)]
FilePath = Annotated[Path, Read(_path, "the path of a file or folder")]


def table_of(path: Path, what: str, advice: str = "") -> Mapping[str, Any]:
    """A TOML file, or a JSON one by its ending, as plain values."""
    as_json = path.suffix == ".json"
    try:
        text = path.read_text(encoding="utf-8")
        table: Mapping[str, Any] = json.loads(text) if as_json else tomllib.loads(text)
    except OSError as err:
        hint = f"; {advice}" if advice else ""
        raise ConfigError(f"cannot read {what} '{path}': {err.strerror}{hint}") from err
    except (ValueError, RecursionError) as err:
        raise ConfigError(f"{what} '{path}' is not {'JSON' if as_json else 'TOML'}: {err}") from err
    return table


@contextmanager
def inside(place: str) -> Iterator[None]:
    """Errors raised in here say where the mistake stands."""
    try:
        yield
    except ConfigError as err:
        raise ConfigError(f"{place}: {err}") from err


def load(kind: type[T], table: Any) -> T:
    """A whole file, or a table inside one; what has no default must be there."""
    given = values(kind, table)
    for name, field in _fields(kind).items():
        if name not in given and field.default is MISSING and field.default_factory is MISSING:
            raise ConfigError(f"needs a `{name}`: {_wanted(get_type_hints(kind, include_extras=True)[name])}")
    return kind(**given)


def values(kind: type, table: Any, also: Iterable[str] = ()) -> dict[str, Any]:
    """What the table gives, checked; `also` names keys that the caller has taken out itself."""
    known = _fields(kind)
    if not isinstance(table, Mapping):
        raise ConfigError(f"wanted a table with {', '.join(known)}; saw {_seen(table)}")
    for key in table:
        if key not in known:
            raise ConfigError(f"unknown key '{key}'{nearest(str(key), (*known, *also))}")
    hints, found = get_type_hints(kind, include_extras=True), {}
    for key, value in table.items():
        with inside(key):
            found[key] = _value(hints[key], value)
    return found


def _value(kind: Any, value: Any) -> Any:
    kinds = [k for k in get_args(kind) if k is not NoneType] if _optional(kind) else [kind]
    if _optional(kind) and value is None:
        return None
    if len(kinds) == 1 and (reader := _reader(kinds[0])):
        return reader.by(value)
    if isinstance(kinds[0], type) and is_dataclass(kinds[0]):
        return value if isinstance(value, kinds[0]) else load(kinds[0], value)
    if item := _item(kinds[0]):
        return tuple(_numbered(item, value, kind))
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        info = msgspec.inspect.type_info(kinds[0])
        if isinstance(info, msgspec.inspect.LiteralType):
            choices = [str(choice) for choice in info.values]
            raise ConfigError(f"unknown value {_seen(value)}{nearest(str(value), choices)}") from None
        raise ConfigError(f"wanted {_wanted(kind)}, saw {_seen(value)}") from None


def _numbered(item: type, value: Any, kind: Any) -> Iterator[Any]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ConfigError(f"wanted {_wanted(kind)}, saw {_seen(value)}")
    for number, entry in enumerate(value, 1):
        with inside(f"number {number}"):
            yield entry if isinstance(entry, item) else load(item, entry)


def _wanted(kind: Any) -> str:
    """An annotation in words."""
    if _optional(kind):
        return _wanted(next(k for k in get_args(kind) if k is not NoneType))
    if _item(kind):
        return "a list of tables"
    if reader := _reader(kind):
        return reader.wanted
    if isinstance(kind, type) and is_dataclass(kind):
        return f"a table with {', '.join(_fields(kind))}"
    info, called = msgspec.inspect.type_info(kind), ""
    if isinstance(info, msgspec.inspect.Metadata):
        called, info = (info.extra_json_schema or {}).get("description", ""), info.type
    match info:
        case msgspec.inspect.IntType() | msgspec.inspect.FloatType():
            whole = isinstance(info, msgspec.inspect.IntType)
            return (called or ("a whole number" if whole else "a number")) + _range(info)
        case msgspec.inspect.BoolType():
            return called or "true or false"
        case msgspec.inspect.DictType():
            return called or "a table"
        case msgspec.inspect.VarTupleType():
            return called or "a list of texts"
        case _:
            return called or "a text"


def _range(info: Any) -> str:
    low, above = info.ge, info.gt
    high, below = info.le, info.lt
    if low is not None and high is not None:
        return f" from {_plain(low)} to {_plain(high)}"
    parts = [
        f"{word} {_plain(bound)}"
        for word, bound in (("of at least", low), ("above", above), ("at most", high), ("below", below))
        if bound is not None
    ]
    return f" {' and '.join(parts)}" if parts else ""


def _plain(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


def _seen(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _optional(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind)


def _reader(kind: Any) -> Read | None:
    return next((part for part in getattr(kind, "__metadata__", ()) if isinstance(part, Read)), None)


def _item(kind: Any) -> type | None:
    """Of a list of tables, what each table is."""
    inner = get_args(kind)[0] if get_origin(kind) is tuple else None
    return inner if isinstance(inner, type) and is_dataclass(inner) else None


def _fields(kind: Any) -> dict[str, Field[Any]]:
    return {field.name: field for field in fields(kind)}
