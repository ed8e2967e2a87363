"""`thinkcap view` in a real browser: fifty runs, hostile names, the keyboard alone, a phone, a growing study."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chains import HOSTILE
from opened import PHONE, Opened

from patience import PATIENCE_S
from thinkcap.traces.lock import FileLock

pytestmark = pytest.mark.browser
Viewing = Callable[[Path], str]
NAME = "<img src=x onerror='window.harmed=1'> %%DATA%%"


@pytest.fixture(scope="module")
def fifty(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two whole studies and 48 of which only the small files are left, with hostile text in every field."""
    root = tmp_path_factory.mktemp("fifty") / "runs"
    for name in ("first", "second"):
        shutil.copytree(runs / name, root / name)
    hostile = {"model": HOSTILE, "tasks": [HOSTILE], "budgets": [32], "policy": [{"name": HOSTILE}]}
    for number in range(48):
        folder = root / (f"{NAME} {number}" if number % 2 else f"old-{number}")
        folder.mkdir()
        (folder / "rows.jsonl").touch()
        said = hostile if number % 3 == 0 else {"model": HOSTILE, "tasks": [HOSTILE], "budgets": [32]}
        (folder / "study.toml").write_text(
            "".join(f"{k} = {json.dumps(v)}\n" for k, v in said.items() if k != "policy")
        )
        cells = [{"policy": HOSTILE, "budget": 32, "accuracy": 0.5}]
        summary = {"rows": 3, "failed": 1, "cells": cells, "provenance": {"tasks": {HOSTILE: {"questions": 3}}}}
        (folder / "summary.json").write_text(json.dumps(summary))
    return root


@pytest.fixture(scope="module")
def address(fifty: Path, viewing: Viewing) -> str:
    return viewing(fifty) + "/"


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Opened]:
    with Opened(browser, address, viewport={"width": 1400, "height": 900}) as view:
        yield view
        assert view.said == []
        assert view.page.evaluate("window.harmed") is None


def test_fifty_runs_by_keyboard_alone(opened: Opened) -> None:
    page = opened.page
    assert page.locator("#runs > li").count() == 50
    opened.until("document.querySelector('[data-run=first] .headline')?.textContent.includes('Thinking')")
    assert NAME in page.inner_text("#runs")
    assert "</script><script>" in page.inner_text("#runs")
    assert page.locator("#runs img, #runs script").count() == 0
    opened.shoot("view-fifty")
    page.keyboard.press("/")
    page.keyboard.type("second")
    opened.until("document.querySelectorAll('#runs > li').length === 1")
    page.keyboard.press("Tab")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == "second"
    page.keyboard.press("x")
    assert page.inner_text("#chosen") == "second"
    page.keyboard.press("/")
    page.keyboard.press("Control+a")
    page.keyboard.type("first")
    opened.until("document.querySelector('#runs .name')?.textContent === 'first'")
    page.keyboard.press("Tab")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.locator("#compare").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#compare-title:has-text('second and first')")
    assert page.locator("#compare tbody tr").count() == 2
    page.locator(".brand a").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#runs > li")


def test_words_of_a_chain_lead_to_its_question(opened: Opened) -> None:
    page = opened.page
    page.fill("#search", "<b>not bold")
    hit = page.locator("#hits a").first
    hit.wait_for()
    assert "<b>not bold" in page.inner_text("#hits")
    assert page.locator("#hits b").count() == 0
    question = hit.inner_text().partition(": ")[2]
    hit.click()
    page.wait_for_selector(f"#one-title:has-text('{question}')")
    page.wait_for_selector("#one .trace")
    page.fill("#search", "<b>NOT bold")
    opened.until("document.querySelectorAll('#list li').length < 5")
    assert question in page.inner_text("#list")
    assert {url.split("/")[2] for url in opened.asked} == {page.url.split("/")[2]}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone(browser: Any, address: str, scheme: str) -> None:
    with Opened(browser, address, **PHONE, color_scheme=scheme) as view:
        assert view.page.evaluate("document.documentElement.scrollWidth") <= 390
        view.shoot(f"view-phone-{scheme}", whole=False)
        view.page.locator("[data-run=second] .name").tap()
        view.page.wait_for_selector("#one .trace")
        assert view.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert view.said == []


def test_a_study_grows_on_the_page(browser: Any, runs: Path, viewing: Viewing, tmp_path: Path) -> None:
    """Rows come, the curve grows, it stops, goes on and ends; the page follows by itself."""
    lines = (runs / "first" / "rows.jsonl").read_bytes().splitlines(keepends=True)
    folder = tmp_path / "runs" / "live"
    folder.mkdir(parents=True)
    shutil.copy(runs / "first" / "study.toml", folder)

    def write(part: list[bytes], end: bytes = b"") -> None:
        with (folder / "rows.jsonl").open("ab") as file:
            file.write(b"".join(part) + end)

    def told(done: int, left: float) -> None:
        note = {
            "total": 480,
            "done": done,
            "failed": 0,
            "tokens": 1,
            "seconds_left": left,
            "written_s": time.time(),
        }
        (folder / "progress.json").write_text(json.dumps(note))

    lock = FileLock.take(folder / "rows.jsonl")
    write(lines[:60], lines[60][:30])
    told(60, 240)
    with Opened(browser, f"{viewing(tmp_path / 'runs')}/run/live/") as view:
        page = view.page
        page.wait_for_selector("#live-words:has-text('Running: 60 of 480 rows')")
        assert "about 4 min left" in page.inner_text("#live-words")
        first = page.inner_html("[data-chart='Right answers by cap'] .plot")
        page.locator("#list button").first.click()
        page.wait_for_selector("#one .why tbody tr")
        lock.release()
        page.wait_for_selector("#live-words:has-text('Stopped')")
        assert "Run the same command again" in page.inner_text("#live-words")
        lock = FileLock.take(folder / "rows.jsonl")
        write([lines[60][30:], *lines[61:300]])
        told(300, 50)
        page.wait_for_selector("#live-words:has-text('Running: 300 of 480 rows')")
        assert "about 50 s left" in page.inner_text("#live-words")
        assert page.inner_html("[data-chart='Right answers by cap'] .plot") != first
        assert page.evaluate("document.querySelectorAll('#live-rows li').length") == 6
        view.shoot("view-live")
        write(lines[300:])
        for name in ("rows.parquet", "chains.jsonl", "summary.json"):
            shutil.copy(runs / "first" / name, folder)
        lock.release()
        page.wait_for_selector("#verdict p")
        view.until("document.querySelectorAll('#one .trace').length")
        assert page.locator("#live").count() == 0
        assert view.said == []


@pytest.mark.slow
def test_a_real_study_killed_and_resumed_is_followed(browser: Any, viewing: Viewing, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    questions = tmp_path / "q.jsonl"
    asked = [{"id": f"q{i}", "question": f"{HOSTILE} {'x' * i}", "answer": str(i)} for i in range(30)]
    questions.write_text("".join(json.dumps(one) + "\n" for one in asked))
    words = ("--policy", "nothink,think,close", "--budgets", "8:64:4", "--model", "slow_engine:factory")
    command = [sys.executable, "-m", "thinkcap", "study", "--task", questions, *words, "--concurrency", "1"]
    paths = os.pathsep.join(str(root / p) for p in ("src", "tests/study"))

    def study() -> subprocess.Popen[bytes]:
        out = ("--out", tmp_path / "runs" / "live")
        return subprocess.Popen(
            [*command, *out], env={**os.environ, "PYTHONPATH": paths}, stderr=subprocess.DEVNULL
        )

    (tmp_path / "runs").mkdir()
    running = study()
    try:
        while not (tmp_path / "runs" / "live" / "progress.json").exists():
            assert running.poll() is None
            time.sleep(0.05)
        with Opened(browser, f"{viewing(tmp_path / 'runs')}/run/live/") as view:
            page = view.page
            view.until("Number(document.body.dataset.rows) > 20")
            running.kill()
            running.wait()
            page.wait_for_selector("#live-words:has-text('Stopped')")
            before = int(page.evaluate("document.body.dataset.rows"))
            running = study()
            view.until(f"Number(document.body.dataset.rows) > {before} || !document.body.dataset.rows")
            assert running.wait(2 * PATIENCE_S) == 0
            page.wait_for_selector("#verdict p")
            assert "30 questions, 1,350 rows, 0 failed" in page.inner_text("#subtitle")
            assert page.evaluate("window.harmed") is None
            assert view.said == []
    finally:
        running.kill()
        running.wait()
