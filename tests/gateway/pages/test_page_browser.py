"""The page in a real browser: two policies side by side, the cap dragged, keyboard only, a phone, hostile text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opened import Opened
from running import Client, gateway_running

from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.gateway.admission.auth import new_key

pytestmark = pytest.mark.browser

PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "has_touch": True, "is_mobile": True}
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>&lt;b&gt; %%API%%"


@pytest.fixture(scope="module")
def bundled() -> Iterator[str]:
    with gateway_running("bundled") as (address, _):
        yield address.removesuffix("/v1")


class Playground(Opened):
    def answered(self) -> None:
        """Both sides are done, one way or the other."""
        for lane in ("#left", "#right"):
            self.page.wait_for_selector(f"{lane} .status:text-matches('(answered|cut by the cap) with|No answer')")
        self.page.wait_for_selector("#stop:disabled")

    def status(self, lane: str) -> str:
        return str(self.page.inner_text(f"{lane} .status"))


def test_two_policies_side_by_side_and_the_cap_dragged(browser: Any, bundled: str) -> None:
    with Playground(browser, bundled) as view:
        page = view.page
        assert page.inner_text("#title") == "pebble"
        assert "dialect qwen3" in page.inner_text("#subtitle")
        page.click("#ask")
        view.answered()
        assert view.status("#left").startswith("split (the profile's): answered with 163 of 192 tokens")
        assert page.inner_text("#left .said").endswith("#### 2745")
        assert page.inner_text("#left .cut").startswith("Thought cut after 144 tokens")
        assert "No answer: max_tokens of 192 ended" in view.status("#right")
        assert "before any answer" in page.inner_text("#right .cut")
        boxes = [page.locator(lane).bounding_box() for lane in ("#left", "#right")]
        assert boxes[0]["y"] == boxes[1]["y"]
        assert boxes[0]["x"] + boxes[0]["width"] < boxes[1]["x"]
        view.shoot("gateway", whole=False)
        slider = page.locator("#cap").bounding_box()
        middle = slider["y"] + slider["height"] / 2
        before = page.inner_text("#cap-value")
        page.mouse.move(slider["x"] + slider["width"] * 0.47, middle)
        page.mouse.down()
        page.mouse.move(slider["x"] + slider["width"] * 0.70, middle, steps=4)
        page.mouse.up()
        cap = page.inner_text("#cap-value")
        assert int(cap.replace(",", "")) > int(before)
        page.wait_for_selector(f"#right .status:text-matches('of {cap} tokens')")
        view.answered()
        assert page.inner_text("#right .said").endswith("#### 2745")
        assert page.locator("#right .cut").count() == 0
        assert page.inner_text("#steps tr.here td").replace(",", "") <= cap
        spent = [int(n) for n in page.locator("#right .stages td:nth-child(3)").all_inner_texts()]
        assert f"with {sum(spent)} of {cap} tokens" in view.status("#right")
        assert view.said == []
        assert {url.split("/", 3)[2] for url in view.asked} == {bundled.removeprefix("http://")}


def test_the_counts_move_while_somebody_watches(browser: Any, bundled: str) -> None:
    with Playground(browser, bundled) as view:
        count = view.page.locator("#counts div", has_text="answered").locator("dd")
        before = int(count.inner_text().replace(",", ""))
        body = {"model": "pebble", "messages": [{"role": "user", "content": "1+1?"}], "max_tokens": 8}
        assert Client(bundled).post("/v1/chat/completions", json=body).status_code == 200
        view.page.wait_for_selector(f"#counts dd:text-is('{before + 1:,}')")


def test_by_the_keyboard_alone(browser: Any, bundled: str) -> None:
    with Playground(browser, bundled) as view:
        page, keys = view.page, view.page.keyboard
        assert page.evaluate("document.activeElement.id") == "question"
        keys.press("Control+A")
        keys.type("Is 3 + 4 equal to 7?")
        keys.press("Tab")
        assert page.evaluate("document.activeElement.id") == "cap"
        for _ in range(2):
            keys.press("ArrowLeft")
        assert page.inner_text("#cap-value") == "96"
        keys.press("[")
        assert page.inner_text("#cap-value") == "64"
        for _ in range(3):
            keys.press("Tab")
        assert page.evaluate("document.activeElement.closest('#left') !== null")
        keys.type("close")
        assert page.locator("#left select").input_value() == "close"
        keys.press("Control+Enter")
        view.answered()
        assert "close (asked for)" in view.status("#left")
        keys.press("Shift+Tab")
        keys.press("Tab")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        assert view.said == []


def test_a_phone_in_the_dark(browser: Any, bundled: str) -> None:
    with Playground(browser, bundled, **PHONE) as view:
        page = view.page
        page.tap("#ask")
        view.answered()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
        boxes = [page.locator(lane).bounding_box() for lane in ("#left", "#right")]
        assert boxes[0]["x"] == boxes[1]["x"]
        assert boxes[1]["y"] > boxes[0]["y"]
        view.shoot("gateway-phone")
        page.tap("#theme")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        page.goto(f"{bundled}/docs")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
        view.shoot("docs-phone", whole=False)
        assert view.said == []


def test_what_a_hostile_model_writes_is_text(browser: Any) -> None:
    engine = ScriptedEngine(lambda prompt: f"<think>{HOSTILE}</think>{HOSTILE}")
    with gateway_running(engine) as (address, _), Playground(browser, address.removesuffix("/v1")) as view:
        page = view.page
        page.locator("#cap").evaluate("c => { c.value = c.max; c.dispatchEvent(new Event('input')); }")
        page.click("#ask")
        view.answered()
        assert page.inner_text("#right .said") == HOSTILE
        assert page.inner_text("#right .thought") == HOSTILE
        assert page.locator(".trace img, .trace script, .trace b").count() == 0
        assert page.title() == "thinkcap: scripted"
        assert not [url for url in view.asked if url.endswith("/x")]
        assert view.said == []


def test_a_key_is_asked_for_and_kept_nowhere(browser: Any) -> None:
    key, line = new_key("alice")
    engine = ScriptedEngine(lambda prompt: "It is 42.")
    settings = {"keys": {"alice": line.split('"')[1]}}
    with (
        gateway_running(engine, **settings) as (address, _),
        Playground(browser, address.removesuffix("/v1")) as view,
    ):
        page = view.page
        assert page.is_visible("#door")
        assert page.is_hidden("#inside")
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("#door-said:has-text('This key is not known here.')")
        page.keyboard.type(key)
        page.keyboard.press("Enter")
        page.wait_for_selector("#inside:visible")
        page.click("#ask")
        view.answered()
        assert "It is 42." in page.inner_text("#left .said")
        kept = page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])")
        assert key not in kept + page.content()
        page.reload()
        page.wait_for_selector("#door:visible")
        # Only the browser's own words about the refusals.
        assert all("401" in words for words in view.said)


def test_escape_stops_the_answers_and_the_work(browser: Any) -> None:
    engine = ScriptedEngine(lambda prompt: "It is 42.", delay_s=3600)
    with gateway_running(engine) as (address, gateway), Playground(browser, address.removesuffix("/v1")) as view:
        under_way = "#counts div:has(dt:text-is('under way')) dd"
        view.page.keyboard.press("Control+Enter")
        view.page.wait_for_selector(f"{under_way}:text-is('2')")
        view.page.keyboard.press("Escape")
        view.page.wait_for_selector("#left .status:has-text('Stopped.')")
        view.page.wait_for_selector(f"{under_way}:text-is('0')")
        assert gateway.service.admission.active == 0
