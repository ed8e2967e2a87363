"""The explorer in a real browser: it loads, it is silent, it moves, and nothing a model wrote runs."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chains import HOSTILE
from opened import SHOTS, Opened

from thinkcap.report.explorer import page as page_module
from thinkcap.report.explorer.page import write_page

pytestmark = pytest.mark.browser

CUT = "document.querySelector('.trace .cut')?.textContent"

CONTRAST = """() => {
  const parse = c => c.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const lum = c => { const [r, g, b] = parse(c).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$|transparent/.test(c)) return c; } return 'rgb(255,255,255)'; };
  const low = [];
  for (const e of document.querySelectorAll('p, td, th, label, button, h1, h2, h3, summary, .v-r, .v-w, .v-u, .v-f, .gone, .cut')) {
    if (!e.textContent.trim() || !e.getClientRects().length) continue;
    const a = lum(getComputedStyle(e).color), b = lum(ground(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) low.push([e.className || e.tagName, ratio.toFixed(2), e.textContent.slice(0, 30)]);
  }
  return low;
}"""  # noqa: E501


@pytest.fixture(scope="module")
def file(run: Path, other_run: Path) -> Path:
    return write_page(run, compare=other_run)


@pytest.fixture(scope="module")
def window(browser: Any, file: Path) -> Iterator[Opened]:
    with Opened(browser, file) as view:
        yield view


@pytest.fixture
def opened(window: Opened) -> Opened:
    return window.anew()


def picture(view: Opened, chart: str) -> str:
    return str(view.page.evaluate("n => document.querySelector(`[data-chart='${n}'] svg`).outerHTML", chart))


def test_it_loads_in_silence_and_asks_for_nothing(opened: Opened, file: Path) -> None:
    assert opened.said == []
    assert opened.asked == [file.resolve().as_uri()]
    assert opened.page.locator("#verdict p").count() >= 1
    assert opened.page.locator("[data-chart]:visible svg[role=img]").count() == 7
    opened.shoot("light")


def test_the_slider_moves_every_chart_the_table_and_the_cut(opened: Opened) -> None:
    page = opened.page
    charts = page.eval_on_selector_all(".chart:not([hidden])", "all => all.map(c => c.dataset.chart)")
    page.locator("#cap").fill("1")
    page.locator("#list button").first.click()
    before = {name: picture(opened, name) for name in charts}
    table, cut = page.inner_text("#methods"), page.evaluate(CUT)
    assert cut.startswith("Cut at 64 tokens")
    length = page.evaluate("document.querySelector('.trace .thought').textContent.length")
    page.locator("#cap").fill("2")
    assert page.inner_text("#cap-value") == "128"
    assert page.inner_text("#methods") != table
    page.wait_for_function("document.querySelector('.trace .cut')?.textContent.startsWith('Cut at 128')")
    assert page.evaluate("document.querySelector('.trace .thought').textContent.length") > length
    same = [name for name in charts if picture(opened, name) == before[name]]
    assert same == []
    assert opened.said == []


def test_a_bin_of_few_chains_sets_no_scale(browser: Any, run: Path, tmp_path: Path) -> None:
    """The last chain ends for certain at the token it ends at: that must not flatten all the others."""
    shutil.copytree(run, tmp_path / "run")
    file = write_page(tmp_path / "run")
    text = file.read_text(encoding="utf-8")
    found = json.loads(re.search(r'"hazard":(\{.*?\})', text)[1])  # type: ignore[index]
    last = found["bins"][-1][1]
    changed = {**found, "bins": [*found["bins"], [last, last + 40, 1.0, 0.2, 1.0, 1]]}
    file.write_text(text.replace(json.dumps(found, separators=(",", ":")), json.dumps(changed)), encoding="utf-8")
    with Opened(browser, file) as view:
        chart = view.page.locator("[data-chart='Chance that a chain ends next']")
        note = chart.locator("p").inner_text()
        assert f"fewer than 10 chains left; above the scale: 100.0 % from {last} on." in note
        assert found["top"] < 0.5
        assert view.said == []
        chart.scroll_into_view_if_needed()
        view.shoot("hazard")


def test_the_cut_is_where_the_budget_falls(opened: Opened, run: Path) -> None:
    """One token of the scripted model is one character, its tags one token each."""
    page = opened.page
    page.locator("#cap").fill("1")
    page.locator("#list button").first.click()
    shown = page.evaluate("document.querySelector('.trace .thought').textContent")
    assert len(shown) == 64 - 1 + len("<think>")


def test_filters(opened: Opened) -> None:
    page = opened.page
    page.locator("#cap").fill("1")

    def shown() -> int:
        return page.locator("#list li").count()

    whole = shown()
    assert whole == 30
    counts = {}
    for result in ("r", "w", "u", "f"):
        page.select_option("#result", result)
        counts[result] = shown()
    assert sum(counts.values()) == whole
    page.select_option("#result", "")
    page.select_option("#by", label="nothink")
    page.select_option("#result", "f")
    assert shown() > 0
    page.locator("#list button").first.click()
    assert "A failure is not a wrong answer" in page.inner_text("#one")
    page.select_option("#result", "")
    page.select_option("#against", label="think")
    flips = shown()
    assert 0 < flips < whole
    page.select_option("#against", "")
    page.select_option("#by", label="iris")
    page.select_option("#stage", label="extract")
    assert 0 < shown() < whole
    page.select_option("#stage", "")
    page.fill("#search", "mix/0/7")
    assert shown() == 1
    page.fill("#search", "no such thing")
    assert shown() == 0
    page.fill("#search", "")
    page.select_option("#group", label="dates")
    assert shown() == 6
    assert "dates" in page.inner_text("#now-title")
    assert opened.said == []


def test_flips_against_the_other_run(opened: Opened) -> None:
    page = opened.page
    page.locator("#cap").fill("2")
    assert page.locator("#compare tbody tr").count() == 2
    assert page.inner_text("#compare-made").startswith("Both made on ")
    page.select_option("#by", label="nothink")
    page.select_option("#against", "other")
    assert 0 < page.locator("#list li").count() < 30


def test_a_question_says_what_each_method_answered_and_why(opened: Opened) -> None:
    page = opened.page
    page.locator("#cap").fill("4")
    page.locator("#list button").nth(2).click()
    rows = page.locator("#one .why tbody tr")
    assert rows.count() == 10
    text = page.inner_text("#one")
    assert "gold" in text
    assert "means the same as" in text or "is not equal to" in text
    page.locator("#one .modes button", has_text="nothink").click()
    assert "Chain (nothink)" in page.inner_text("#one")
    page.locator("#one .grid thead button", has_text="32").click()
    assert page.inner_text("#cap-value") == "32"


def test_keyboard_alone_is_enough(opened: Opened) -> None:
    page = opened.page
    page.locator("#cap").fill("1")
    page.locator("body").press("]")
    assert page.inner_text("#cap-value") == "128"
    page.locator("body").press("[")
    assert page.inner_text("#cap-value") == "64"
    first = page.evaluate("document.querySelector('#list [aria-current]').dataset.q")
    page.locator("body").press("j")
    page.keyboard.press("ArrowDown")
    now = page.evaluate("document.querySelector('#list [aria-current]').dataset.q")
    assert int(now) == int(first) + 2
    assert page.evaluate("document.activeElement.dataset.q") == now
    page.keyboard.press("k")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("j")
    assert page.input_value("#search") == "j"
    page.locator("#cap").focus()
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#cap-value") == "128"
    page.locator("body").press("?")
    assert page.is_visible("#keys")


def test_the_address_holds_the_place(opened: Opened, file: Path) -> None:
    page = opened.page
    page.locator("#cap").fill("3")
    page.locator("#list button").nth(4).click()
    address = page.evaluate("location.hash")
    assert "cap=256" in address
    page.goto("about:blank")
    page.goto(file.resolve().as_uri() + address)
    page.wait_for_function("document.body.dataset.ready === 'yes'")
    assert page.inner_text("#cap-value") == "256"
    assert page.inner_text("#one-title") == "mix/0/4"


def test_methods_can_be_drawn_and_hidden(opened: Opened) -> None:
    before = picture(opened, "Right answers by cap")
    opened.page.get_by_label("draw mrsd").check()
    assert picture(opened, "Right answers by cap") != before
    assert "mrsd" in opened.page.inner_text("#key")


@pytest.mark.parametrize(("scheme", "other"), [("dark", "light"), ("light", "dark")])
def test_dark_and_light_each_with_enough_contrast(browser: Any, file: Path, scheme: str, other: str) -> None:
    with Opened(browser, file, color_scheme=scheme) as view:
        page = view.page
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        chart = page.evaluate("getComputedStyle(document.querySelector('[data-chart] .line')).stroke")
        assert page.evaluate(CONTRAST) == []
        if scheme == "dark":
            view.shoot("dark")
        page.locator("#theme").click()
        assert page.evaluate("document.documentElement.dataset.theme") == other
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != ground
        lit = "getComputedStyle(document.querySelector('[data-chart] .line')).stroke"
        assert page.evaluate(lit) != chart
        assert view.said == []


def test_a_phone(browser: Any, file: Path) -> None:
    with Opened(browser, file, viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True) as view:
        page = view.page
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        widths = page.eval_on_selector_all(".chart:not([hidden]) .plot svg", "all => all.map(c => c.clientWidth)")
        assert widths
        assert max(widths) <= 390
        page.locator("#list button").nth(1).tap()
        view.until("document.querySelector('#one').getBoundingClientRect().y < 800")
        view.shoot("phone")


def test_print(browser: Any, file: Path) -> None:
    with Opened(browser, file, color_scheme="dark") as view:
        view.page.emulate_media(media="print")
        view.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert view.page.evaluate("document.documentElement.dataset.theme") == "light"
        assert not view.page.is_visible("#bar")
        SHOTS.mkdir(parents=True, exist_ok=True)
        paper = view.page.pdf(path=SHOTS / "print.pdf", format="A4")
        assert paper.startswith(b"%PDF")


def test_what_a_model_wrote_is_text(opened: Opened) -> None:
    page = opened.page
    seen = 0
    for number in range(page.locator("#list button").count()):
        page.locator("#list button").nth(number).click()
        page.wait_for_function(
            "n => document.querySelector('#one-title').textContent.endsWith('/' + n)", arg=number
        )
        seen += HOSTILE in page.evaluate(
            "document.querySelector('.trace').textContent.replace(/Cut at.*?(?=<)/, '')"
        )
    assert seen > 0
    assert page.evaluate("window.harmed") is None
    assert page.locator("#one script, #one img, #one b b").count() == 0
    assert opened.said == []
    assert len(opened.asked) == 1


def test_details_beside_the_page_are_loaded_when_wanted(
    browser: Any, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    monkeypatch.setattr(page_module, "INLINE_BYTES", 15_000)
    file = write_page(folder)
    with Opened(browser, file) as view:
        inside = set(view.page.evaluate("JSON.parse(document.getElementById('data').textContent).inside"))
        outside = next(i for i in range(30) if i not in inside)
        view.page.locator("#list button").nth(outside).click()
        view.page.wait_for_selector("#one .trace")
        assert all(url.startswith("file://") for url in view.asked)
        assert view.asked[1].endswith("/report-data/0.js")
        assert view.said == []
    shutil.rmtree(folder / "report-data")
    with Opened(browser, file) as view:
        view.page.locator("#list button").nth(outside).click()
        view.page.wait_for_selector("text=not beside this page")
        assert view.page.locator("#one .grid").count() == 1
