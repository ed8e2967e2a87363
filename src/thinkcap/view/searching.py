"""Text in the questions, golds and chains of many runs.

found = search([Path("runs/a"), Path("runs/b")], "kilometres")
found.hits[0].run, found.hits[0].around
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.study.questions import Asked, read_questions

MOST_HITS = 100
MOST_SECONDS = 10.0
_AROUND = 60


@dataclass(frozen=True)
class Hit:
    run: str
    task: str
    question: str
    where: str
    around: tuple[str, str, str]
    """What stands before, the words themselves, what stands after."""


@dataclass(frozen=True)
class Hits:
    hits: tuple[Hit, ...]
    whole: bool
    """False where it was ended early: enough found, or too long looked."""
    unread: tuple[str, ...]
    """Runs whose chains could not be read."""


def search(folders: Iterable[Path], text: str) -> Hits:
    """Whatever the case of letters; the first place of each question."""
    wanted, until = text.casefold(), time.monotonic() + MOST_SECONDS
    hits: list[Hit] = []
    unread: list[str] = []
    for folder in folders:
        try:
            for asked in read_questions(folder):
                if time.monotonic() > until or len(hits) >= MOST_HITS:
                    return Hits(tuple(hits), False, tuple(unread))
                if (hit := _hit(folder.name, asked, wanted)) is not None:
                    hits.append(hit)
        except (DataError, OSError):
            unread.append(folder.name)
    return Hits(tuple(hits), True, tuple(unread))


def _hit(run: str, asked: Asked, wanted: str) -> Hit | None:
    for where, text in _texts(asked):
        at = text.casefold().find(wanted)
        if at >= 0:
            end = at + len(wanted)
            around = (text[max(0, at - _AROUND) : at], text[at:end], text[end : end + _AROUND])
            return Hit(run, asked.task, asked.question, where, around)
    return None


def _texts(asked: Asked) -> Iterator[tuple[str, str]]:
    yield "id", asked.question
    yield "question", asked.text
    yield "gold", asked.gold
    for mode, chain in asked.chains.items():
        yield f"chain ({mode})", chain.text


def among(details: Iterable[dict[str, Any]], text: str) -> list[int]:
    """Numbers of the questions of a page whose text, gold or chains hold the words."""
    wanted = text.casefold()

    def texts(detail: dict[str, Any]) -> Iterator[str]:
        yield from (detail["text"] or "", detail["gold"] or "")
        yield from (chain["text"] for chain in detail["chains"].values())

    return [at for at, detail in enumerate(details) if any(wanted in t.casefold() for t in texts(detail))]
