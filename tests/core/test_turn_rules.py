"""Merging messages for templates that render them in one order only."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from thinkcap.core.turn_rules import ANY_ORDER, TurnRules, find_turn_rules


def message(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


LATE = (
    message("system", "One"),
    message("user", "Hi"),
    message("system", "Two"),
    message("user", "Again"),
    message("system", "Three"),
)


def test_system_messages_become_one_leading_message_in_their_order() -> None:
    merged = TurnRules(one_system=True).merge(LATE)
    assert merged == (
        message("system", "One\n\nTwo\n\nThree"),
        message("user", "Hi"),
        message("user", "Again"),
    )


def test_both_rules_leave_messages_that_alternate() -> None:
    merged = TurnRules(one_system=True, alternation=True).merge(LATE)
    assert merged == (message("system", "One\n\nTwo\n\nThree"), message("user", "Hi\n\nAgain"))


def test_a_conversation_that_fits_stays_as_it_is() -> None:
    fits = LATE[:2]
    assert TurnRules(True, True).merge(fits) == fits
    assert ANY_ORDER.merge(LATE) == LATE
    assert TurnRules(True, True).merge(()) == ()


def test_parts_calls_and_reasoning_survive_a_merge() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    calls = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    merged = TurnRules(alternation=True).merge(
        (
            message("user", [image]),
            message("user", "What is it?"),
            message("assistant", "I look.", reasoning_content="Hm."),
            message("assistant", None, tool_calls=calls, reasoning_content="Look."),
            message("tool", "a cat", tool_call_id="a"),
            message("tool", "a dog", tool_call_id="b"),
            message("user", "Be brief."),
        )
    )
    blank, asked = {"type": "text", "text": "\n\n"}, {"type": "text", "text": "What is it?"}
    assert merged == (
        message("user", [image, blank, asked]),
        message("assistant", "I look.", reasoning_content="Hm.\n\nLook.", tool_calls=calls),
        message("tool", "a cat", tool_call_id="a"),
        message("tool", "a dog\n\nBe brief.", tool_call_id="b"),
    )


@pytest.mark.parametrize("rules", [TurnRules(a, b) for a in (False, True) for b in (False, True)])
def test_the_probe_finds_what_a_template_needs(rules: TurnRules) -> None:
    async def can_render(messages: Sequence[Any]) -> bool:
        return rules.merge(messages) == tuple(messages)

    assert asyncio.run(find_turn_rules(can_render)) == rules


def test_a_template_that_renders_nothing_gets_messages_as_they_are() -> None:
    async def can_render(messages: Sequence[Any]) -> bool:
        return False

    assert asyncio.run(find_turn_rules(can_render)) == ANY_ORDER
