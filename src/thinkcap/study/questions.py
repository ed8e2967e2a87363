"""What was asked and the whole chains, beside the rows, so that a report can show the cut without the model.

Ids mean nothing without the model that wrote them, so their text is stored while the engine is still open:
`chains.jsonl`, one line per question, each chain once with the place in its text where every budget cuts it.

    cuts = Cuts(plan)
    for line in cuts.noted(lines): ...
    await write_questions(folder, cuts, engine, sampling)
    asked = read_questions(folder)
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, get_args

import msgspec

from thinkcap.core.errors import DataError
from thinkcap.core.files import replacing
from thinkcap.core.types import Ids, Mode, Question, Request, Sampling
from thinkcap.study.plan import Asking, StudyPlan
from thinkcap.study.rows import StageRow
from thinkcap.traces.remember import Remembering

FILE = "chains.jsonl"

_STAGES: Mapping[Mode, frozenset[str]] = {
    # Stages that put the bare question to the model: all of them read one stored chain of their mode.
    "think": frozenset({"think", "think1"}),
    "nothink": frozenset({"answer", "probe"}),
}
_MODE_OF: Mapping[str, Mode] = {stage: mode for mode, stages in _STAGES.items() for stage in stages}
_AT_A_TIME = 16
_BROKEN = "\N{REPLACEMENT CHARACTER}"
_LONGEST = 64 << 20
"""Bytes of a question with its chains that are read at once."""


class Chain(msgspec.Struct, frozen=True):
    """One mode's longest chain for a question."""

    text: str
    tokens: int
    ended: bool
    cuts: tuple[tuple[int, int], ...]
    """(budget, characters of the text a run at that budget has); budgets the chain did not reach are left out."""
    closed: int | None = None
    """Where in the text the thought is over; None where it never closes."""


class Asked(msgspec.Struct, frozen=True):
    task: str
    question: str
    seed: int
    group: str
    text: str
    gold: str
    facts: dict[str, str]
    chains: dict[str, Chain]


class Cuts:
    """Which questions a study asked (each with its first seed), and where the chains of each mode were cut."""

    def __init__(self, plan: StudyPlan) -> None:
        first: dict[tuple[str, str], Asking] = {}
        for asking in plan.asked:
            first.setdefault((asking.task.name, asking.question.id), asking)
        self.asked = tuple(first.values())
        self._cuts: dict[tuple[str, str, int], dict[Mode, dict[int, bool]]] = {
            (a.task.name, a.question.id, a.seed): {mode: {} for mode in _STAGES} for a in self.asked
        }
        """For each length that was asked for: whether a chain was cut there, or ended before."""

    def noted(self, lines: Iterable[Any]) -> Iterator[Any]:
        """The rows as they come, once their stages were looked at."""
        decode = msgspec.json.Decoder(list[StageRow]).decode
        for line in lines:
            mine = self._cuts.get((line.task, line.question, line.seed))
            if mine is not None and not line.failed:
                for stage in decode(line.stages):
                    mode = _MODE_OF.get(stage.stage)
                    if mode is not None and stage.budget > 0:
                        # A thought written in pieces goes on from what it reads again, and may stop at a text.
                        length = stage.reread + stage.budget
                        cut = not stage.reread and (stage.ended or stage.charged >= stage.budget)
                        mine[mode][length] = mine[mode].get(length, False) or cut
            yield line

    def longest(self, asking: Asking, mode: Mode) -> int:
        return max(self._of(asking, mode), default=0)

    def of(self, asking: Asking, mode: Mode) -> list[int]:
        """In rising order."""
        return sorted(length for length, cut in self._of(asking, mode).items() if cut)

    def _of(self, asking: Asking, mode: Mode) -> Mapping[int, bool]:
        return self._cuts[asking.task.name, asking.question.id, asking.seed][mode]


async def write_questions(folder: Path, cuts: Cuts, engine: Remembering, sampling: Sampling) -> Path:
    """Every question of the study once, with the chains its rows were made from, as far as these were written."""
    encoder = msgspec.json.Encoder()
    path = folder / FILE
    with replacing(path) as file:
        for at in range(0, len(cuts.asked), _AT_A_TIME):
            batch = cuts.asked[at : at + _AT_A_TIME]
            lines = await asyncio.gather(*(_asked(asking, cuts, engine, sampling) for asking in batch))
            file.writelines(encoder.encode(line) + b"\n" for line in lines)
    return path


async def _asked(asking: Asking, cuts: Cuts, engine: Remembering, sampling: Sampling) -> Asked:
    task, question = asking.task, asking.question
    drawn = Sampling(sampling.temperature, sampling.top_p, asking.seed)
    chains: dict[str, Chain] = {}
    for mode in get_args(Mode):
        chain = await _chain(question, mode, cuts.longest(asking, mode), cuts.of(asking, mode), engine, drawn)
        if chain is not None:
            chains[mode] = chain
    facts = {str(k): str(v) for k, v in task.facts.get(question.id, {}).items()}
    return Asked(
        task=task.name,
        question=question.id,
        seed=asking.seed,
        group=question.group,
        text=_said(question),
        gold=task.golds[question.id],
        facts=facts,
        chains=chains,
    )


async def _chain(
    question: Question, mode: Mode, longest: int, budgets: Sequence[int], engine: Remembering, sampling: Sampling
) -> Chain | None:
    if not longest:
        return None
    request = Request(question, mode, longest, stage="read", final=mode == "nothink", sampling=sampling)
    output = await engine.recall(await engine.prompt(request), longest, sampling)
    if output is None:
        # Its rows asked in other words, or began the turn for the model.
        return None
    if output.ids is None:
        parts = [f"{engine.card.open_tag}{output.thought}{engine.card.close_tag}"] if output.thought else []
        text = "".join([*parts, output.answer or ""]) or output.text
        return Chain(text, output.tokens, output.ended, (), _close(text, engine.card.close_tag))
    within = [budget for budget in budgets if budget < len(output.ids)]
    heads = await _heads(engine, output.ids, output.text, within)
    cuts = tuple((b, _utf16(head.rstrip(_BROKEN))) for b, head in zip(within, heads, strict=True))
    return Chain(output.text, output.tokens, output.ended, cuts, _close(output.text, engine.card.close_tag))


async def _heads(engine: Remembering, ids: Ids, text: str, budgets: Sequence[int]) -> list[str]:
    """The text of a chain up to each budget. It is read once, piece by piece, where the pieces make up its text: a
    character may lie across a cut, and with some tokenizers a word says something else behind another."""
    if not budgets:
        return []
    pieces = [await engine.read(ids[start:end]) for start, end in pairwise((0, *budgets, len(ids)))]
    if "".join(pieces) != text:
        return [await engine.read(ids[:budget]) for budget in budgets]
    return [text[:place] for place in accumulate(map(len, pieces[:-1]))]


def _close(text: str, tag: str) -> int | None:
    at = text.find(tag)
    return None if at < 0 else _utf16(text[: at + len(tag)])


def _utf16(text: str) -> int:
    """Length as a browser counts it: places are for JavaScript's strings."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _said(question: Question) -> str:
    """The conversation as text; a single user message without its role."""
    texts = [_content(m.get("content")) for m in question.messages]
    if len(texts) == 1:
        return texts[0]
    return "\n\n".join(f"{m.get('role', '')}: {t}" for m, t in zip(question.messages, texts, strict=True))


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "\n".join(str(part.get("text", f"[{part.get('type', 'part')}]")) for part in content)
    return "" if content is None else str(content)


def read_questions(folder: Path) -> Iterator[Asked]:
    """Nothing where a run has no such file (an older or an interrupted one)."""
    path = folder / FILE
    if not path.is_file():
        return
    decoder = msgspec.json.Decoder(Asked)
    with path.open("rb") as lines:
        for number, line in enumerate(iter(lambda: lines.readline(_LONGEST + 1), b""), start=1):
            if len(line) > _LONGEST:
                raise DataError(
                    f"'{path}' line {number} is longer than {_LONGEST >> 20} MiB; no study writes such a line"
                )
            try:
                yield decoder.decode(line)
            except (ValueError, RecursionError) as err:
                raise DataError(f"'{path}' line {number}: {err}; run the study again to write it again") from err
