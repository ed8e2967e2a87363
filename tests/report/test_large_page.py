"""A page of 1,319 questions, as many as GSM8K has, by keyboard and on a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chains import study
from opened import PHONE, Opened

from thinkcap.report.explorer.page import write_page

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(1800)]
QUESTIONS = 1319


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("large") / "gsm8k-sized"
    study(out, limit=QUESTIONS, policies="nothink,think", budgets="64,256")
    return write_page(out)


def test_by_keyboard(browser: Any, file: Path) -> None:
    with Opened(browser, file, viewport={"width": 1400, "height": 900}) as view:
        page = view.page
        assert f"{QUESTIONS:,} questions" in page.inner_text("#subtitle")
        page.keyboard.press("j")
        page.wait_for_selector("#one .trace")
        before = page.inner_text("#one-title")
        page.keyboard.press("j")
        view.until(f"document.querySelector('#one-title').textContent !== '{before}'")
        page.keyboard.press("/")
        page.keyboard.type("1234")
        view.until(f"document.querySelectorAll('#list button').length < {QUESTIONS // 10}")
        assert f"of {QUESTIONS:,} questions" in page.inner_text("#count")
        view.shoot("large", whole=False)
        assert view.said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone(browser: Any, file: Path, scheme: str) -> None:
    with Opened(browser, file, **PHONE, color_scheme=scheme) as view:
        assert view.page.evaluate("document.documentElement.scrollWidth") <= 390
        view.page.locator("#list button").nth(3).tap()
        view.page.wait_for_selector("#one .trace")
        assert view.page.evaluate("document.documentElement.scrollWidth") <= 390
        view.shoot(f"large-phone-{scheme}", whole=False)
        assert view.said == []
