"""From a task's name to its questions: built-in benchmarks, question families, anyone's file or module.

load("gsm8k", data=Path("data"), limit=200, seed=42)
load("bbh:date_understanding"); load("family:arithmetic", limit=50); load("mine.csv"); load("my.module:task")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest, resolve
from thinkcap.core.types import EMPTY
from thinkcap.tasks.own.tables import SUFFIXES as FILES
from thinkcap.tasks.task import Source, Task

Loader = Callable[[str, Path | None, int | None, int | None], Source]
"""(variant, data folder, seed, how many are needed) -> the whole set."""

_TABLE = {
    "gsm8k": "thinkcap.tasks.gsm8k:read",
    "math500": "thinkcap.tasks.math500:read",
    "bbh": "thinkcap.tasks.bbh:read",
    "aime24": "thinkcap.tasks.competitions:aime24",
    "aime25": "thinkcap.tasks.competitions:aime25",
    "amc23": "thinkcap.tasks.competitions:amc23",
    "families": "thinkcap.tasks.generated:read",
    "family": "thinkcap.tasks.generated:read",
}
"""In the order a person reads them, and where a name is not that of its file."""
_NO_TASKS = ("competitions", "files", "generated", "load", "task")


def _files(folder: Path) -> dict[str, str]:
    """Tasks whose file has their name: a new one needs no line here."""
    here = sorted(path.stem for path in folder.glob("[a-z]*.py") if path.stem not in _NO_TASKS)
    return {name: f"thinkcap.tasks.{name}:read" for name in here}


TASKS: Mapping[str, str] = MappingProxyType(_TABLE | _files(Path(__file__).parent))


def is_file(name: str) -> bool:
    """Whether a task is a table of anyone's own questions."""
    return name.lower().endswith(FILES)


def is_module(name: str) -> bool:
    """Whether a task's name is somebody's code (`my.module:task`) rather than a built-in set or a file."""
    return ":" in name and not is_file(name) and name.partition(":")[0] not in TASKS


def load(
    name: str,
    *,
    data: Path | None = None,
    limit: int | None = None,
    offset: int = 0,
    seed: int | None = None,
    columns: Mapping[str, str] = EMPTY,
    kind: str | None = None,
) -> Task:
    """The questions of a task. Benchmarks come from the folder `data` or THINKCAP_DATA, else from the Hub.

    `columns` (which column is the question, which the gold) and `kind` are for files of anyone's own.
    """
    if is_file(name):
        from thinkcap.tasks.own.reading import read as read_own

        return read_own(name, data, columns=columns, kind=kind).task(seed=seed, limit=limit, offset=offset)
    head, _, variant = name.partition(":")
    if head in TASKS:
        read: Loader = resolve(head, TASKS, "task")
        needed = None if limit is None else offset + limit
        source = read(variant, data, seed, needed)
        if head in ("families", "family"):
            # Made in the seed's own order: shuffling them would make the pilot depend on the limit.
            seed = None
        return source.task(seed=seed, limit=limit, offset=offset)
    if Path(name).suffix and Path(name).is_file():
        raise ConfigError(
            f"cannot read questions from '{name}'; save it as {', '.join(FILES[:-1])} or {FILES[-1]}"
        )
    if ":" not in name:
        raise ConfigError(
            f"unknown task '{name}'{nearest(name, TASKS)}; or name a file ({', '.join(FILES)}), or module:task"
        )
    thing = resolve(name, TASKS, "task")
    if callable(thing) and not isinstance(thing, (Task, Source)):
        thing = thing()
    if isinstance(thing, Source):
        return thing.task(seed=seed, limit=limit, offset=offset)
    if isinstance(thing, Task):
        if limit is None and not offset:
            return thing
        raise ConfigError(f"'{name}' is a finished Task; --limit and --offset need a thinkcap.tasks.Source")
    raise ConfigError(
        f"'{name}' is a {type(thing).__name__}; wanted a Task, a Source, or a function that makes one"
    )
