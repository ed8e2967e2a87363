"""What Ollama's `/api/show` tells, in the shape its documentation gives: Go templates written for the purpose."""

from __future__ import annotations

from typing import Any

import pytest

from thinkcap.dialects import of_show

_GO = """\
{{- range $i, $_ := .Messages }}<|im_start|>{{ .Role }}
{{ if and $.IsThinkSet .Thinking -}}
OPEN{{ .Thinking }}CLOSE
{{ end -}}
{{ .Content }}<|im_end|>
{{ end }}<|im_start|>assistant
"""


@pytest.mark.parametrize(
    ("opened", "closed"), [("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("<ponder:deep>", "</ponder:deep>")]
)
def test_marks_around_the_thought_are_read(opened: str, closed: str) -> None:
    template = _GO.replace("OPEN", opened).replace("CLOSE", closed)
    found = of_show({"template": template, "capabilities": ["completion", "thinking"]})
    assert found is not None
    assert (found.open_tag, found.close_tag) == (opened, closed)
    assert found.found_by == "Ollama's template"


def test_capabilities_without_thinking_say_that_it_does_not() -> None:
    found = of_show({"template": "{{ .Prompt }}", "capabilities": ["completion"]})
    assert found is not None
    assert not found.thinks


def test_a_family_helps_where_the_template_does_not() -> None:
    told: dict[str, Any] = {
        "template": "{{ .Prompt }}",
        "capabilities": ["thinking"],
        "details": {"family": "gptoss"},
    }
    found = of_show(told)
    assert found is not None
    assert found.name == "gpt-oss"


@pytest.mark.parametrize(
    "told", [{}, {"template": 5, "capabilities": "x", "details": []}, {"capabilities": ["thinking"]}]
)
def test_anything_else_says_nothing(told: dict[str, Any]) -> None:
    assert of_show(told) is None
