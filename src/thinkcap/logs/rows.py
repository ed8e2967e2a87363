"""Anyone's rows, one per answer, into arms: from JSON lines, CSV, Parquet or a list inside a JSON document.

thinkcap diagnose runs.csv --map id=idx,correct=acc,tokens=n_out,budget=cap,policy=mode
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, NamedTuple

from thinkcap.core.errors import DataError
from thinkcap.core.types import EMPTY
from thinkcap.logs.arms import Arm, Questions, content_hash, with_counted_end
from thinkcap.logs.builder import ArmBuilder
from thinkcap.logs.columns import apart, check_map, flat, guess, named_plainly
from thinkcap.logs.ends import CALLED, broken, finished
from thinkcap.logs.judge import final_answer, judge
from thinkcap.logs.modes import WrittenMode, read_mode, split_label
from thinkcap.logs.reading import Log, place, printable, refused, shown, verdict, whole
from thinkcap.logs.said import Found, Said, served_as
from thinkcap.logs.thoughts import Thoughts, thoughts

_LOOKED_AT = 200
"""Rows whose names and values decide which column is what."""

_ARM = 4000
"""Bytes an arm takes before its first row, about."""

_UNNAMED = "answer"
WRITTEN = ("variant", "method")
"""Options that no policy has: what a log wrote beside a mode."""


@dataclass(frozen=True)
class Heading:
    """What stands above a list of rows: its name and what the document says of all of them."""

    file: str
    mode: str = ""
    budget: int | None = None
    seed: int | None = None
    name: str = ""
    about: Mapping[str, Any] = EMPTY
    """model, task, budget, mode and seed as the document states them beside the rows."""
    template: str = ""
    """The model's chat template, where the log has it: it tells how thoughts are marked."""

    def told(self, field: str) -> Any:
        """What the document says, else what its name says; None where neither does."""
        return self.about.get(field) or getattr(self, field, None) or None


Numbered = Iterable[tuple[object, Mapping[str, Any]]]


def read_rows(rows: Numbered, heading: Heading, questions: Questions, said: Said, log: Log) -> Found:
    """Arms by model, task, policy, budget and seed; graded here where gold and output are there."""
    source = ((line, part) for line, row in rows for part in apart(row))
    head = list(islice(source, _LOOKED_AT))
    if not head:
        raise DataError(f"{log.path}, line 2: no rows; nothing to diagnose")
    values = [flat(row) for _, row in head]
    check_map(said.columns, values, log.path)
    columns = guess(values, said.columns)
    if "correct" not in columns and "output" not in columns:
        names = ", ".join(printable(str(n)) for n in list(values[0])[:12])
        raise DataError(
            f"{log.path}, {place(head[0][0])}: no column for 'correct' or 'output' among {names}; "
            f"name one: --map correct=COLUMN or --map output=COLUMN"
        )
    texts = [t for row in values if isinstance(t := row.get(columns.get("output", "")), str)]
    model = (
        values[0].get(columns.get("model", "")) or heading.told("model") or said.named.get("model") or said.only
    )
    marked = thoughts(said.dialect, heading.template, model=str(model or ""), texts=texts)
    # The template opened the thought where answers close one that they did not open.
    opened = any(map(marked.opened_before, texts))
    reader = _Reader(heading, columns, said, log, marked, opened)
    for line, row in chain(head, source):
        reader.add(_Row(flat(row), columns, heading.file, line))
    return reader.done(questions)


class _Row:
    """One row, its values by our names; what refuses a value names the column as the log does."""

    __slots__ = ("columns", "file", "line", "values")

    def __init__(self, values: Mapping[str, Any], columns: Mapping[str, str], file: str, line: object) -> None:
        self.values, self.columns, self.file, self.line = values, columns, file, line

    def get(self, name: str) -> Any:
        """None where the log has no such column, or nothing in it."""
        value = self.values.get(self.columns[name]) if name in self.columns else None
        return None if value == "" else value

    def text(self, name: str) -> str | None:
        """An empty text is one."""
        value = self.values.get(self.columns[name]) if name in self.columns else None
        return value if isinstance(value, str) else None

    def where(self, name: str) -> tuple[str, object, str]:
        return self.file, self.line, self.columns.get(name, name)

    def verdict(self, name: str) -> bool | None:
        return verdict(self.get(name), *self.where(name))

    def number(self, name: str, otherwise: Any = None) -> int | None:
        value = self.get(name)
        if isinstance(value, list):
            return len(value)
        value = otherwise if value is None else value
        return None if value in (None, "") else whole(value, *self.where(name))

    def seconds(self, name: str) -> float | None:
        try:
            return None if self.get(name) is None else float(self.get(name))
        except (TypeError, ValueError, OverflowError) as err:
            raise refused(*self.where(name), f"{shown(self.get(name))} is not a number of seconds") from err

    def gold(self) -> str | None:
        value = self.get("gold")
        if value in (None, [], {}):
            return None
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        return final_answer(value if isinstance(value, str) else shown(value))

    def content(self, gold: str | None) -> int:
        """Identify the question by its reference answer, else by a stored hash of that, else by its text."""
        text = gold or self.values.get("gold_hash") or self.text("question")
        return content_hash(str(text)) if text else 0

    @property
    def failed(self) -> bool:
        """It tells of an error instead of an answer."""
        return broken(self.get("finish")) or (
            not self.text("output")
            and any(
                value not in (None, "", False, {}, [])
                for name, value in self.values.items()
                if name == "error" or name.startswith("error.") or name.endswith(".error")
            )
        )


class _Way(NamedTuple):
    """What tells arms apart beside budget and seed."""

    model: str
    task: str
    policy: str
    options: tuple[tuple[str, Any], ...]


class _Reader:
    def __init__(
        self, heading: Heading, columns: dict[str, str], said: Said, log: Log, marked: Thoughts, opened: bool
    ) -> None:
        self.marked = marked
        self.heading, self.columns, self.said, self.memory = heading, columns, said, log.memory
        self.opened = opened and "reasoning" not in columns
        # Beside outputs we read the answers ourselves; `upstream_correct` is somebody's word on them.
        self.hearsay = "output" in columns and "correct" not in said.columns and not named_plainly(columns)
        self.builders: dict[tuple[_Way, int | None, int | None], ArmBuilder] = {}
        self.count = self.numbered = self.thoughts = self.unclosed = self.ungraded = self.failed = 0
        self._ways: dict[str, _Way] = {}
        self._samples: dict[tuple[_Way, int | None, str], int] = {}

    def add(self, row: _Row) -> None:
        self.count += 1
        if row.failed:
            self.failed += 1
            return
        way = self._way(row)
        if not self.said.wants(way.model):
            return
        output, gold = row.text("output"), row.gold()
        gradable = None if output is None else gold
        logged = self._verdict(row, lenient=gradable is not None or self.hearsay)
        build, name = self._place(row, way, sampled=output is not None)
        parts = self.marked.divide(output or "", opened=self.opened)
        thought = row.text("reasoning") or parts.thought
        self.thoughts += bool(thought) or self.marked.shown_in(output or "")
        extra = self._extra(row)
        self.unclosed += not parts.closed
        if output is not None:
            extra["unclosed"] = not parts.closed
        if "output" in self.columns:
            extra["empty"] = not parts.said.strip() and str(row.get("finish")) not in CALLED
        if gold is not None:
            extra["gold"] = gold
        if gradable is not None:
            extra |= {"text": parts.answer} | ({"trace": thought} if thought else {})
        cut = row.verdict("cut")
        build.add(
            name,
            right=None if self.hearsay and gradable is None else logged,
            tokens=row.number("tokens"),
            ended=self._ended(row, build),
            flag=None if cut is None else not cut,
            content=row.content(gold),
            line=row.line,
            columns={"question": self.columns.get("id", "id"), "tokens": self.columns.get("tokens", "tokens")},
            **extra,
        )
        if gradable is not None:
            build.grade_last(gradable, parts.said)
        elif logged is None or self.hearsay:
            self.ungraded += 1

    def _way(self, row: _Row) -> _Way:
        """How a row was answered. Rows of one arm write it alike, so that it is read once."""
        written = [row.get(name) for name in ("model", "task", "policy", "mode")]
        known = str(written)
        if known not in self._ways:
            model, served = served_as(str(written[0] or self.heading.told("model") or ""))
            policy, options = self._policy(written[2], written[3], served)
            # The split that is always meant is no part of a task's name.
            task = printable(str(written[1] or self.heading.told("task") or "")).removesuffix("/test")
            self.memory.charge(_ARM, self.heading.file)
            self._ways[known] = _Way(printable(model), task, policy, tuple(options.items()))
        return self._ways[known]

    def _place(self, row: _Row, way: _Way, *, sampled: bool) -> tuple[ArmBuilder, str]:
        """The arm a row belongs to, and the question's id in it."""
        budget = row.number("budget", self.heading.told("budget"))
        if budget is not None and budget < 1:
            raise refused(*row.where("budget"), f"{budget} is not a cap; wanted 1 or more")
        budget = self.said.budget if budget is None else budget
        seed = row.number("seed", self.heading.told("seed"))
        name = self._id(row)
        if seed is None and sampled:
            # One question several times, with answers of their own: samples.
            again = self._samples.get((way, budget, name), 0)
            self._samples[way, budget, name] = again + 1
            self.numbered += again > 0
            seed = again or None
        key = (way, budget, seed)
        if key not in self.builders:
            self.memory.charge(_ARM, self.heading.file)
            about = {"model": way.model, "task": way.task, "seed": seed, "options": dict(way.options)}
            about["order"] = self.heading.file
            self.builders[key] = ArmBuilder(self.heading.file, way.policy, budget, self.memory, **about)
        return self.builders[key], name

    def _id(self, row: _Row) -> str:
        if "id" not in self.columns:
            return str(self.count)
        value = row.get("id")
        if value is None or isinstance(value, (list, dict)):
            raise refused(*row.where("id"), "no id; every row needs one")
        text = value if isinstance(value, str) else shown(value)
        return text if len(text) < 200 else f"{content_hash(text):016x}"

    def _policy(self, named: Any, written: Any, served: str | None) -> tuple[str, dict[str, Any]]:
        """The policy and its options, from whoever says it first: the reader, the row, the document, its name."""
        if self.said.policy:
            return split_label(self.said.policy)
        written = self.heading.about.get("mode") if written is None else written
        mode = None if written in (None, "") else read_mode(written)
        if named is None and mode is None and written not in (None, ""):
            named = written
        if named is not None:
            own = read_mode(named)
            if own is None and mode is None:
                return split_label(printable(str(named)))
            if own is None and mode is not None:
                return mode.mode, {"method": printable(str(named))}
            mode = mode or own
        if mode is None and self.heading.mode:
            mode = WrittenMode(self.heading.mode, self.heading.name)
        if mode is not None:
            return mode.mode, {"variant": printable(mode.variant)} if mode.variant else {}
        if served:
            return split_label(served)
        return self.heading.name or self.said.mode or _UNNAMED, {}

    def _extra(self, row: _Row) -> dict[str, Any]:
        found: dict[str, Any] = {
            name: printable(str(row.get(name))) for name in ("group", "level") if row.get(name) is not None
        }
        if "pred" in self.columns:
            found["pred"] = "" if row.get("pred") is None else str(row.get("pred"))
        if isinstance(row.get("stated"), bool):
            found["has_final"] = row.get("stated")
        counted = {"tokens_think": row.number("tokens_think"), "wall_s": row.seconds("wall")}
        return found | {name: value for name, value in counted.items() if value is not None}

    def _verdict(self, row: _Row, *, lenient: bool) -> bool | None:
        try:
            return row.verdict("correct")
        except DataError:
            # Beside a gold it only serves comparison with ours.
            if lenient:
                return None
            raise

    def _ended(self, row: _Row, build: ArmBuilder) -> bool | None:
        if row.get("ended") is not None:
            build.about["criterion"] = f"stored column '{self.columns['ended']}'"
            return row.verdict("ended")
        if "finish" in self.columns:
            build.about["criterion"] = f"finish reason in '{self.columns['finish']}'"
        return finished(row.get("finish"), *row.where("finish"))

    def done(self, questions: Questions) -> Found:
        file, builders = self.heading.file, list(self.builders.values())
        if not builders and self.failed == self.count:
            raise DataError(f"{file}: every row failed; nothing to diagnose")
        if not builders:
            known = ", ".join(sorted({way.model for way in self._ways.values()}))
            raise DataError(f"{file}: no row of model {self.said.only!r}; models in it: {known}")
        notes = [f"{file}: {note}" for note in self._notes()]
        # A failure names no arm; together they are told with the first.
        builders[0].failed = self.failed
        notes += judge(builders, file, self.columns, accept=self.said.accept_grades)
        unnamed = [build for build in builders if build.policy == _UNNAMED]
        if unnamed and self.thoughts:
            notes.append(f"{file}: answers hold thoughts, so the arm is read as think; pass --as to say otherwise")
            for build in unnamed:
                build.policy = "think"
        if self.thoughts:
            for build in builders:
                build.about["provenance"] = self.marked.found
        return Found([_ended_by_count(build.done(questions)) for build in builders], notes)

    def _notes(self) -> Iterator[str]:
        guessed = (f"{f}={printable(c)}" for f, c in self.columns.items() if f not in self.said.columns)
        if listed := ", ".join(guessed):
            yield f"columns guessed ({listed}); pass --map to say otherwise"
        if "id" not in self.columns:
            yield "no ids are stored; the position serves as the id"
        if self.numbered:
            yield f"{self.numbered} rows repeat a question and are read as further samples of it"
        if self.failed:
            yield f"{self.failed} rows failed and are left out; a failure is not a wrong answer"
        if self.unclosed and not self.columns.keys() & {"ended", "finish", "tokens"}:
            yield f"{self.unclosed} answers open a thought and never close it, so they were cut"
        if self.ungraded:
            heard = printable(self.columns["correct"]) if self.hearsay else None
            rest = f"; '{heard}' is used only if you name it: --map correct={heard}" if heard else ""
            missing = "no gold" if heard else "neither a gold nor a verdict"
            yield f"{self.ungraded} rows have {missing}, so they are kept but not judged{rest}"


def _ended_by_count(arm: Arm) -> Arm:
    if arm.ended is None and arm.flag is not None and arm.tokens is None:
        return replace(arm, ended=arm.flag, criterion="stored flag")
    return with_counted_end(arm)
