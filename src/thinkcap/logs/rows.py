"""Anyone's rows, one an answer, into arms: from JSON lines, CSV, Parquet or a list inside a JSON document.

thinkcap diagnose runs.csv --map id=idx,correct=acc,tokens=n_out,budget=cap,policy=mode
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, NamedTuple

from thinkcap.core.errors import DataError
from thinkcap.logs.arms import Arm, Questions, content_hash, with_counted_end
from thinkcap.logs.builder import ArmBuilder
from thinkcap.logs.columns import apart, check_map, flat, guess, named_plainly
from thinkcap.logs.ends import broken, finished
from thinkcap.logs.judge import final_answer, judge
from thinkcap.logs.labels import split_label
from thinkcap.logs.memory import Memory
from thinkcap.logs.modes import Mode, read_mode
from thinkcap.logs.reading import place, printable, shown, verdict, whole
from thinkcap.logs.said import Found, Said, served_as
from thinkcap.logs.thoughts import divide, opened_before, shows_thought

_LOOKED_AT = 200
"""Rows whose names and values decide which column is what."""

_ARM = 4000
"""Bytes an arm takes before its first row, about."""

_UNNAMED = "answer"
WRITTEN = ("variant", "method")
"""Options that no policy has: what a log wrote beside a mode."""


@dataclass(frozen=True)
class Run:
    """What stands around a list of rows: its name and what the document says of all of them."""

    file: str
    mode: str = ""
    budget: int | None = None
    seed: int | None = None
    name: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    """model, task, budget, mode and seed as the document states them beside the rows."""


Numbered = Iterable[tuple[object, Mapping[str, Any]]]


def read_rows(rows: Numbered, run: Run, questions: Questions, said: Said, memory: Memory, path: object) -> Found:
    """Arms by model, task, policy, budget and seed; graded here where gold and output are there."""
    source = ((line, part) for line, row in rows for part in apart(row))
    head = list(islice(source, _LOOKED_AT))
    if not head:
        raise DataError(f"{path}, line 2: no rows; nothing to diagnose")
    values = [row for _, row in head]
    check_map(said.columns, values, path)
    columns = guess(values, said.columns)
    if "correct" not in columns and "output" not in columns:
        names = ", ".join(printable(str(n)) for n in list(flat(values[0]))[:12])
        raise DataError(
            f"{path}, {place(head[0][0])}: no column for 'correct' or 'output' among {names}; "
            f"name one: --map correct=COLUMN or --map output=COLUMN"
        )
    reader = _Reader(run, columns, said, memory, _opens_thoughts(values, columns))
    for line, row in chain(head, source):
        reader.add(line, flat(row))
    return _done(reader, questions, said)


def _opens_thoughts(rows: list[Mapping[str, Any]], columns: Mapping[str, str]) -> bool:
    """The template opened the thought: answers close one that they did not open."""
    texts = (flat(row).get(columns.get("output", "")) for row in rows)
    return any(isinstance(t, str) and opened_before(t) for t in texts)


class _Way(NamedTuple):
    """What tells arms apart beside budget and seed."""

    model: str
    task: str
    policy: str
    options: tuple[tuple[str, Any], ...]


class _Reader:
    def __init__(self, run: Run, columns: dict[str, str], said: Said, memory: Memory, opened: bool) -> None:
        self.run, self.columns, self.said, self.memory, self.opened = run, columns, said, memory, opened
        self.builders: dict[tuple[_Way, int | None, int | None], ArmBuilder] = {}
        self.numbered = self.positions = self.thoughts = self.ungraded = self.failed = 0
        # Beside outputs we read the answers ourselves; `upstream_correct` is somebody's word on them.
        self.hearsay = "output" in columns and "correct" not in said.columns and not named_plainly(columns)
        self.count = 0
        self._models: set[str] = set()
        self._ways: dict[str, _Way] = {}
        self._samples: dict[tuple[_Way, int | None, str], int] = {}

    @property
    def models(self) -> list[str]:
        return sorted(self._models)

    def add(self, line: object, row: Mapping[str, Any]) -> None:
        get = self._getter(row)
        self.count += 1
        output = _text(get("output"))
        if broken(get("finish")) or (not output and _failed(row)):
            self.failed += 1
            return
        way = self._way(get)
        self._models.add(way.model)
        if not self.said.wants(way.model):
            return
        gold = _gold(get("gold"))
        gradable = None if output is None else gold
        logged = self._verdict(get("correct"), line, lenient=gradable is not None or self.hearsay)
        build, name = self._place(get, line, way, sampled=output is not None)
        parts = divide(output or "", opened=self.opened and "reasoning" not in self.columns)
        thought = _text(get("reasoning")) or parts.thought
        self.thoughts += bool(thought) or shows_thought(output or "")
        extra = self._extra(get, line)
        if shows_thought(output or "") or self.opened:
            extra["unclosed"] = not parts.closed
        if gold is not None:
            extra["gold"] = gold
        if gradable is not None:
            extra |= {"text": parts.answer} | ({"trace": thought} if thought else {})
        build.add(
            name,
            right=None if self.hearsay and gradable is None else logged,
            tokens=self._number(get, "tokens", line, None),
            ended=self._ended(get, line, build),
            flag=self._flag(get, line),
            content=_content(gold, get("question")),
            line=line,
            columns={"question": self.columns.get("id", "id"), "tokens": self.columns.get("tokens", "tokens")},
            **extra,
        )
        if gradable is not None:
            build.grade_last(gradable, parts.said)
        elif logged is None or self.hearsay:
            self.ungraded += 1

    def _way(self, get: Callable[[str], Any]) -> _Way:
        """How a row was answered. Rows of one arm write it alike, so that it is read once."""
        written = (get("model"), get("task"), get("policy"), get("mode"))
        known = str(written)
        if known not in self._ways:
            model, served = served_as(str(written[0] or self.run.about.get("model") or ""))
            policy, options = self._policy(get, served)
            task = _task(written[1] or self.run.about.get("task") or "")
            self.memory.charge(_ARM, self.run.file)
            self._ways[known] = _Way(printable(model), task, policy, tuple(options.items()))
        return self._ways[known]

    def _place(
        self, get: Callable[[str], Any], line: object, way: _Way, *, sampled: bool
    ) -> tuple[ArmBuilder, str]:
        """The arm a row belongs to, and the question's id in it."""
        budget = self._number(get, "budget", line, self.run.about.get("budget") or self.run.budget)
        budget = self.said.budget if budget is None else budget
        seed = self._number(get, "seed", line, self.run.about.get("seed") or self.run.seed)
        name = self._id(get, line)
        if seed is None and sampled:
            # One question several times, with answers of their own: samples.
            again = self._samples.get((way, budget, name), 0)
            self._samples[way, budget, name] = again + 1
            self.numbered += again > 0
            seed = again or None
        key = (way, budget, seed)
        if key not in self.builders:
            self.memory.charge(_ARM, self.run.file)
            about = {"model": way.model, "task": way.task, "seed": seed, "options": dict(way.options)}
            about["order"] = self.run.file
            self.builders[key] = ArmBuilder(self.run.file, way.policy, budget, self.memory, **about)
        return self.builders[key], name

    def _getter(self, row: Mapping[str, Any]) -> Callable[[str], Any]:
        return lambda name: row.get(self.columns[name]) if name in self.columns else None

    def _id(self, get: Callable[[str], Any], line: object) -> str:
        if "id" not in self.columns:
            self.positions += 1
            return str(self.count)
        value = get("id")
        if value in (None, "") or isinstance(value, (list, dict)):
            raise DataError(
                f"{self.run.file}, {place(line)}, column '{self.columns['id']}': no id; every row needs one"
            )
        text = value if isinstance(value, str) else shown(value)
        return text if len(text) < 200 else f"{content_hash(text):016x}"

    def _policy(self, get: Callable[[str], Any], served: str | None) -> tuple[str, dict[str, Any]]:
        """The policy and its options, from whoever says it first: the reader, the row, the document, its name."""
        if self.said.policy:
            return split_label(self.said.policy)
        named, written = get("policy"), get("mode")
        written = self.run.about.get("mode") if written in (None, "") else written
        mode = None if written in (None, "") else read_mode(written)
        if named in (None, "") and mode is None and written not in (None, ""):
            named = written
        if named not in (None, ""):
            own = read_mode(named)
            if own is None and mode is None:
                return split_label(printable(str(named)))
            if own is None and mode is not None:
                return mode.mode, {"method": printable(str(named))}
            mode = mode or own
        if mode is None and self.run.mode:
            mode = Mode(self.run.mode, self.run.name)
        if mode is not None:
            return mode.mode, {"variant": printable(mode.variant)} if mode.variant else {}
        if served:
            return split_label(served)
        return self.run.name or self.said.mode or _UNNAMED, {}

    def _number(self, get: Callable[[str], Any], name: str, line: object, otherwise: Any) -> int | None:
        value = get(name)
        if isinstance(value, list):
            return len(value)
        if value in (None, ""):
            value = otherwise
        if value in (None, ""):
            return None
        found = whole(value, self.run.file, line, self.columns.get(name, name))
        if name == "budget" and found < 1:
            raise DataError(
                f"{self.run.file}, {place(line)}, column '{self.columns.get(name, name)}': {found} is no cap; "
                f"wanted 1 or more"
            )
        return found

    def _extra(self, get: Callable[[str], Any], line: object) -> dict[str, Any]:
        found: dict[str, Any] = {
            name: printable(str(get(name))) for name in ("group", "level") if get(name) not in (None, "")
        }
        if "pred" in self.columns:
            found["pred"] = "" if get("pred") is None else str(get("pred"))
        if isinstance(get("stated"), bool):
            found["has_final"] = get("stated")
        thought = self._number(get, "tokens_think", line, None)
        if thought is not None:
            found["tokens_think"] = thought
        if get("wall") not in (None, ""):
            found["wall_s"] = _seconds(get("wall"), self.run.file, line, self.columns["wall"])
        return found

    def _flag(self, get: Callable[[str], Any], line: object) -> bool | None:
        cut = verdict(get("cut"), self.run.file, line, self.columns.get("cut", "cut"))
        return None if cut is None else not cut

    def _verdict(self, value: Any, line: object, *, lenient: bool) -> bool | None:
        try:
            return verdict(value, self.run.file, line, self.columns.get("correct", "correct"))
        except DataError:
            # Beside a gold it only serves comparison with ours.
            if lenient:
                return None
            raise

    def _ended(self, get: Callable[[str], Any], line: object, build: ArmBuilder) -> bool | None:
        if get("ended") not in (None, ""):
            build.about["criterion"] = f"stored column '{self.columns['ended']}'"
            return verdict(get("ended"), self.run.file, line, self.columns["ended"])
        if "finish" in self.columns:
            build.about["criterion"] = f"finish reason in '{self.columns['finish']}'"
            return finished(get("finish"), self.run.file, line, self.columns["finish"])
        return None


def _failed(row: Mapping[str, Any]) -> bool:
    """A row that tells of an error instead of an answer."""
    return any("error" in name for name in row) and any(
        value not in (None, "", False, {}, [])
        for name, value in row.items()
        if name == "error" or name.startswith("error.") or name.endswith(".error")
    )


def _gold(value: Any) -> str | None:
    if value in (None, "", [], {}):
        return None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return final_answer(value if isinstance(value, str) else shown(value))


def _seconds(value: Any, file: str, line: object, column: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as err:
        raise DataError(
            f"{file}, {place(line)}, column '{column}': {shown(value)} is no number of seconds"
        ) from err


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _task(value: Any) -> str:
    """`gsm8k/test` is gsm8k: the split that is always meant is not part of the name."""
    return printable(str(value)).removesuffix("/test")


def _content(gold: str | None, question: Any) -> int:
    if gold:
        return content_hash(gold)
    return content_hash(question) if isinstance(question, str) and question else 0


def _done(reader: _Reader, questions: Questions, said: Said) -> Found:
    file, builders = reader.run.file, list(reader.builders.values())
    if not builders and reader.failed == reader.count:
        raise DataError(f"{file}: every row failed; nothing to diagnose")
    if not builders:
        known = ", ".join(reader.models)
        raise DataError(f"{file}: no row of model {said.only!r}; models in it: {known}")
    notes = list(_notes(reader, said))
    # A failure names no arm; together they are told with the first.
    builders[0].failed = reader.failed
    notes += judge(builders, file)
    unnamed = [build for build in builders if build.policy == _UNNAMED]
    if unnamed and reader.thoughts:
        notes.append(f"{file}: answers hold thoughts, so the arm is read as think; pass --as to say otherwise")
        for build in unnamed:
            build.policy = "think"
    return Found([_ended_by_count(build.done(questions)) for build in builders], notes)


def _ended_by_count(arm: Arm) -> Arm:
    if arm.ended is None and arm.flag is not None and arm.tokens is None:
        return replace(arm, ended=arm.flag, criterion="stored flag")
    return with_counted_end(arm)


def _notes(reader: _Reader, said: Said) -> Iterator[str]:
    file = reader.run.file
    guessed = ", ".join(f"{f}={printable(c)}" for f, c in reader.columns.items() if f not in said.columns)
    if guessed:
        yield f"{file}: columns guessed ({guessed}); pass --map to say otherwise"
    if reader.positions:
        yield f"{file}: no ids are stored; the position is taken for the id"
    if reader.numbered:
        yield f"{file}: {reader.numbered} rows repeat a question; they are read as further samples of it"
    if reader.failed:
        yield f"{file}: {reader.failed} rows failed and are left out; a failure is no wrong answer"
    if reader.ungraded:
        heard = reader.columns.get("correct") if reader.hearsay else None
        rest = (
            f"; '{printable(heard)}' is not used unless named: --map correct={printable(heard)}" if heard else ""
        )
        missing = "no gold" if heard else "neither a gold nor a verdict"
        yield f"{file}: {reader.ungraded} rows have {missing}, so they are kept but not judged{rest}"
