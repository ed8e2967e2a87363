"""The best that is known for a cap, and for the question where an allocator was fitted.

A study fits the file (`thinkcap calibrate --allocate`); it says which division, stopping rule or fixed policy
serves a cap. Without one: no thinking under small caps, `stop` from there on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from msgspec import structs

from thinkcap.allocate.file import allocation, thinking_budget
from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Flow
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Question
from thinkcap.policies.facts import Declared, Facts
from thinkcap.policies.registry import facts, parse


def auto(question: Question, cap: int, *, table: str = "", prompts: Prompts = PROMPTS) -> Flow:
    """Do what a study found best for this cap, and for this question where an allocator was fitted.

        1               256             1024   <- caps
        |nothink        |stop           |iris(first=96)       as the study found

    The file (`table`) says which method serves which cap, and how long to think about a question.
    Use it once a study of your own model and questions exists.
    Without a file: no thinking below 256 tokens, `stop` from there on.
    """
    entry = allocation(table).entry(cap)
    spec, notes = parse(entry.policy), {"auto": entry.policy}
    if entry.sure is not None:
        from thinkcap.allocate.features import asked

        budget = thinking_budget(table, asked(question), entry.sure)
        notes["budget"] = str(budget)
        if budget == 0:
            spec = parse(entry.quick or "nothink")
        else:
            most = min(budget, int(spec.options.get("think", budget)))
            spec = replace(spec, options=MappingProxyType({**spec.options, "think": most}))
    if spec.name == "auto":
        raise ConfigError("an allocation names `auto` as the policy of a cap; wanted one that does the work")
    if spec.name == "stop" and table:
        spec = replace(spec, options=MappingProxyType({"table": table, **spec.options}))
    answer = yield from spec.bind(prompts)(question, min(cap, entry.budget or cap))
    return structs.replace(answer, notes={**answer.notes, **notes})


def _of_its_entries(options: Mapping[str, Any]) -> Facts:
    """What holds for the policy of any cap holds for `auto`."""
    entries = allocation(options["table"]).entries
    words = [word for entry in entries for word in (entry.policy, entry.quick) if word]
    found = [facts(parse(word)) for word in words]
    return Facts(
        chain=tuple(dict.fromkeys(stage for one in found for stage in one.chain)),
        then=tuple(dict.fromkeys(stage for one in found for stage in one.then)),
        may_be_empty=any(one.may_be_empty for one in found),
        needs_kind=any(one.needs_kind for one in found),
        needs_nothink=any(one.needs_nothink for one in found) or any(entry.sure is not None for entry in entries),
        answer_pass=all(one.answer_pass for one in found),
    )


FACTS: Declared = {"auto": _of_its_entries}
