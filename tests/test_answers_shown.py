"""Every answer that README, docs, help and docstrings show is what the bundled model says, and is right."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from running import Client, gateway_running

import thinkcap
from thinkcap import api
from thinkcap.cli.ask import command

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ASKED = re.compile(r'thinkcap ask (?P<words>(?:"[^"]*"|[^#"\n])*?)\s+(?:#|answers)\s*(?P<answer>\S+?)\.?$', re.M)
CALLED = re.compile(r"(?P<call>thinkcap\.ask\([^\n]*?\))(?:\.answer\)?)\s+# (?P<answer>\S+)")


def everywhere() -> dict[str, str]:
    found = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
    found["help"] = CliRunner().invoke(command, ["--help"], terminal_width=200).output
    return found


def test_what_ask_is_shown_to_say() -> None:
    shown = {(m["words"], m["answer"]) for text in everywhere().values() for m in ASKED.finditer(text)}
    assert shown
    for words, answer in shown:
        said = CliRunner().invoke(command, [*shlex.split(words), "--json"])
        assert json.loads(said.output)["answer"] == answer, words


def test_no_question_is_shown_without_its_answer() -> None:
    assert any(ASKED.search(text) for text in everywhere().values())
    for name, text in everywhere().items():
        assert text.count("thinkcap ask ") == len(ASKED.findall(text)), name


@pytest.mark.parametrize("text", [thinkcap.__doc__, api.__doc__])
def test_what_python_is_shown_to_say(text: str) -> None:
    (shown,) = CALLED.finditer(text)
    assert eval(shown["call"], {"thinkcap": thinkcap}).answer == shown["answer"]


def test_the_first_request_of_the_gateway() -> None:
    page = (ROOT / "docs/serve.md").read_text(encoding="utf-8")
    (curl,) = re.finditer(
        r"curl .*? -d '(?P<body>\{.*?\})'[ \\\n]*\|[ ]*jq[^\n]*\n```\n\n```\n(?P<said>.*?)\n```", page, re.S
    )
    with gateway_running("bundled") as (address, _):
        found = Client(address).post("/v1/chat/completions", json=json.loads(curl["body"])).json()
    assert found["choices"][0]["message"]["content"].strip() == curl["said"].strip()
    assert found["thinkcap"]["chosen_by"] == "profile"
    assert "19" in curl["said"]
