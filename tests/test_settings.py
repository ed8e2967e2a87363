"""The reader of files: every mistake one line, with the place, what was wanted and what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from thinkcap.allocate.file import Allocation
from thinkcap.calibrate.profile import Profile
from thinkcap.core.errors import ConfigError
from thinkcap.gateway.config import ServeConfig
from thinkcap.settings import FilePath, Read, Text, load, table_of, values
from thinkcap.study.config import StudyConfig


@dataclass(frozen=True)
class Door:
    colour: Literal["red", "blue"] = "red"
    width: Annotated[float, Meta(gt=0, description="a width in metres")] = 1.0


@dataclass(frozen=True)
class House:
    name: Text
    doors: tuple[Door, ...] = ()
    floors: Annotated[int, Meta(ge=1, le=99)] | None = None
    lit: bool = False
    tags: tuple[str, ...] = ()
    more: Mapping[str, Any] | None = None
    plan: FilePath | None = None
    rooms: Annotated[tuple[str, ...], Read(lambda text: tuple(text.split()))] = ()


def test_a_good_file() -> None:
    table = {"name": "x", "doors": [{"width": 2}], "floors": 3, "tags": ["a"], "plan": "p", "rooms": "a b"}
    assert load(House, table) == House("x", (Door(width=2.0),), 3, tags=("a",), plan=Path("p"), rooms=("a", "b"))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"nmae": "x"}, "unknown key 'nmae'; did you mean 'name'?"),
        ({}, "needs a `name`: a text"),
        ({"name": ""}, "name: wanted a text, saw ''"),
        ({"name": "x", "floors": 0}, "floors: wanted a whole number from 1 to 99, saw 0"),
        ({"name": "x", "floors": True}, "floors: wanted a whole number from 1 to 99, saw True"),
        ({"name": "x", "lit": 1}, "lit: wanted true or false, saw 1"),
        ({"name": "x", "tags": "a"}, "tags: wanted a list of texts, saw 'a'"),
        ({"name": "x", "more": 3}, "more: wanted a table, saw 3"),
        ({"name": "x", "plan": 3}, "plan: wanted the path of a file or folder, saw 3"),
        ({"name": "x", "doors": {}}, "doors: wanted a list of tables, saw {}"),
        ({"name": "x", "doors": [{}, 7]}, "doors: number 2: wanted a table with colour, width; saw 7"),
        ({"name": "x", "doors": [{"colour": "rad"}]}, "colour: unknown value 'rad'; did you mean 'red'?"),
        (
            {"name": "x", "doors": [{"width": float("nan")}]},
            "doors: number 1: width: wanted a width in metres above 0, saw nan",
        ),
        ([], "wanted a table with name, doors, floors, lit, tags, more, plan, rooms; saw []"),
    ],
)
def test_every_mistake_is_one_line(table: Any, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(House, table)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_part_of_a_table_is_checked_without_asking_for_the_rest() -> None:
    assert values(House, {"floors": 2}) == {"floors": 2}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.toml", b"x = ", "is not TOML"),
        ("a.json", b"{", "is not JSON"),
        ("a.json", b"[" * 100_000, "is not JSON"),
        ("a.toml", b"\xff", "is not TOML"),
    ],
)
def test_a_file_that_cannot_be_parsed(tmp_path: Path, name: str, text: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(text)
    with pytest.raises(ConfigError, match=said):
        table_of(tmp_path / name, "the file")


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file or directory; make one"):
        table_of(tmp_path / "none.toml", "the file", "make one")


_KEYS = (
    "model",
    "models",
    "policy",
    "policies",
    "budgets",
    "cap",
    "caps",
    "port",
    "keys",
    "stop",
    "allocator",
    "price",
)
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("kind", [StudyConfig, ServeConfig, Profile, Allocation])
@given(table=st.dictionaries(st.sampled_from(_KEYS) | st.text(max_size=8), _ANYTHING, max_size=4))
def test_no_table_whatever_ends_in_a_traceback(kind: Any, table: dict[str, Any]) -> None:
    with suppress(ConfigError):
        kind.from_mapping(table)
