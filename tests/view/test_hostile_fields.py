"""Hostile text in every field a stranger can fill: the pages of `report` and `view` show it and do nothing."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chains import HOSTILE
from opened import PHONE, Opened

from thinkcap.api import run_study
from thinkcap.core.sync import wait
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.report.explorer.page import write_page
from thinkcap.study.config import StudyConfig

pytestmark = pytest.mark.browser
FIELD = f"{HOSTILE} %%DATA%% ${{alert}} {{{{7*7}}}} \u202e"
SHOWN = """document.querySelectorAll('#list button')[NUMBER].textContent.includes(
    document.querySelector('#one-title').textContent)"""
HARMLESS = "window.harmed === undefined && !document.querySelector('main img, main script')"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ids, questions, golds, groups, a fact's name and value, the task's file, model, thoughts and answers."""
    folder = tmp_path_factory.mktemp("hostile")
    table = folder / "<img src=x onerror='window.harmed = 1'>.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "answer", "group", f"fact {HOSTILE}"])
        writer.writerows([f"{n} {FIELD}", f"{n}: {FIELD}", f"{FIELD} {n}", FIELD, FIELD] for n in range(6))

    def script(prompt: str) -> str:
        said = f"The answer is {FIELD} {len(prompt) % 3}."
        return f"<think>{FIELD}\n{FIELD}</think>{said}" if prompt.endswith("[assistant]") else said

    engine = ScriptedEngine(script)
    engine.card = replace(engine.card, model=FIELD)
    words = {"tasks": [str(table)], "kind": "text", "policies": "nothink,think,split", "budgets": "64,1024"}
    wait(run_study(StudyConfig.from_mapping(words | {"out": str(folder / "runs" / "run")}), engine=engine))
    return folder / "runs" / "run"


def walk(view: Opened, shot: str) -> None:
    """Everything is opened and hovered, at the widest cap; nothing acts, all is there as text."""
    page = view.page
    page.wait_for_selector("#one .trace")
    for number in range(page.locator("#list button").count()):
        page.locator("#list button").nth(number).click()
        view.until(SHOWN.replace("NUMBER", str(number)))
        assert HOSTILE in page.evaluate("document.querySelector('#one').textContent")
    page.evaluate("document.querySelectorAll('details').forEach(all => { all.open = true })")
    for chart in page.locator(".chart:not([hidden]) .plot svg").all():
        chart.hover()
    page.fill("#search", "onerror")
    assert page.evaluate(HARMLESS)
    assert "\u202e" not in page.evaluate("document.body.textContent"), "our words behind it would run backwards"
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    view.shoot(shot)
    assert view.said == []


def test_in_the_report(browser: Any, run: Path) -> None:
    with Opened(browser, write_page(run), viewport={"width": 1400, "height": 900}) as view:
        walk(view, "hostile")


def test_on_a_phone_in_the_dark(browser: Any, run: Path) -> None:
    with Opened(browser, write_page(run), **PHONE, color_scheme="dark") as view:
        walk(view, "hostile-phone")


def test_in_the_view(browser: Any, run: Path, viewing: Callable[[Path], str]) -> None:
    with Opened(
        browser, f"{viewing(run.parent)}/run/{run.name}/", viewport={"width": 1400, "height": 900}
    ) as view:
        walk(view, "hostile-view")
