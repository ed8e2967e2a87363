"""A page in a real browser, with everything it said and asked for."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from patience import PATIENCE_S

SHOTS = Path(__file__).parents[2] / "build" / "screenshots"
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"),
    "--no-proxy-server",
]
PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}


def started_browser(*flags: str) -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="pip install playwright drives the browser tests")
    program = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
    if program is None:
        pytest.skip("Chromium is not installed; the browser tests need it (apt-get install chromium)")
    with api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=[*FLAGS, *flags])
        yield started
        started.close()


class Opened:
    """A page with everything it said and asked for."""

    def __init__(self, browser: Any, place: Path | str, **context: Any) -> None:
        options: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}
        self.context = browser.new_context(**options | context)
        self.context.set_default_timeout(1000 * PATIENCE_S)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self._place = place if isinstance(place, str) else place.resolve().as_uri()
        self._go()

    def _go(self) -> None:
        self.page.goto(self._place)
        self.page.wait_for_selector("body[data-ready=yes]")

    def anew(self) -> Opened:
        """The page as it opens, in the same window: opening one takes as long as reading ten pages."""
        self.page.goto("about:blank")
        self.page.mouse.move(0, 0)
        self.said.clear()
        self.asked.clear()
        self._go()
        return self

    def until(self, words: str) -> None:
        """Until an expression holds; the page's policy lets no script of ours wait inside it."""
        end = time.monotonic() + PATIENCE_S
        while not self.page.evaluate(words):
            assert time.monotonic() < end, f"{words} never held"
            self.page.wait_for_timeout(50)

    def shoot(self, name: str, whole: bool = True) -> None:
        """For a person to look at; nothing is asserted of it, so it is made only where somebody wants it."""
        if not os.environ.get("THINKCAP_SHOTS"):
            return
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png", full_page=whole)

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()
