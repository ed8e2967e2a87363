"""What charts and tables of the explorer promise a reader, in a real browser."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from chains import study
from opened import Opened

from thinkcap.policies.methods import about
from thinkcap.report.explorer.page import content, write_page

pytestmark = pytest.mark.browser
FIRST = "[data-chart='Right answers by cap']"
TICKS = """n => { const all = [...document.querySelectorAll(`[data-chart='${n}'] svg text[text-anchor=end]`)];
  return all.map(t => [Number(t.getAttribute('y')), Number(t.textContent)]); }"""


@pytest.fixture(scope="module")
def file(run: Path) -> Path:
    return write_page(run)


@pytest.fixture(scope="module")
def window(browser: Any, file: Path) -> Iterator[Opened]:
    with Opened(browser, file) as opened:
        yield opened


@pytest.fixture
def view(window: Opened) -> Iterator[Opened]:
    yield window.anew()
    assert window.said == []


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten questions, thirteen caps."""
    out = tmp_path_factory.mktemp("few") / "ten"
    study(out, limit=10, policies="nothink,think,close,split,iris", budgets="32,48,64,96,128,192,256,384,512,1024")
    return write_page(out)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty methods, of which `close(reserve=24)` is the best."""
    others = ",".join(f"iris(first={n})" for n in range(4, 38, 2))
    out = tmp_path_factory.mktemp("many") / "twenty"
    study(out, limit=10, policies=f"nothink,think,{others},close(reserve=24)", budgets="64,128")
    return out


def test_hover_shows_values_and_leaves_no_trace(view: Opened) -> None:
    page = view.page
    before = page.inner_html(f"{FIRST} .plot")
    page.locator(f"{FIRST} svg[role=img]").hover()
    shown = page.inner_text("#tip")
    assert re.match(r"\d+ tokens: right", shown)
    assert re.search(r"think\s+[\d.]+ % \([\d.]+ to [\d.]+\)", shown)
    page.mouse.move(2, 2)
    assert page.is_hidden("#tip")
    assert page.inner_html(f"{FIRST} .plot") == before


def test_it_opens_where_the_verdict_looks(view: Opened, run: Path) -> None:
    data = content(run).data
    said = " ".join(data["verdict"])
    assert f"Best at {data['opens']['cap']} tokens: {data['opens']['policies'][0]}@" in said
    assert view.page.inner_text("#cap-value") == str(data["opens"]["cap"])
    assert data["opens"]["policies"][0] in view.page.inner_text("#key")


def test_the_advised_method_is_drawn_among_twenty_ticked_or_not(browser: Any, many: Path) -> None:
    best = content(many).data["opens"]["policies"][0]
    with Opened(browser, write_page(many)) as view:
        assert view.page.locator("#methods tbody tr").count() == 20
        assert f"{best} ★ best at this cap" in " ".join(view.page.inner_text("#key").split())
        view.page.get_by_label(f"draw {best}", exact=True).uncheck()
        assert f"{best} ★ best at this cap" in " ".join(view.page.inner_text("#key").split())
        view.shoot("twenty-methods")


def test_coinciding_lines_can_be_told_apart(browser: Any, many: Path) -> None:
    """The cascades answer alike: a line shows beside the ones above it, and each mark has a place of its own."""
    with Opened(browser, write_page(many)) as view:
        for box in view.page.locator("#methods input[type=checkbox]").all()[2:6]:
            box.check()
        used = "[data-chart='How much of the cap is used']"
        places = view.page.eval_on_selector_all(
            f"{used} .mark", "all => all.map(m => m.getAttribute('transform'))"
        )
        assert len(set(places)) == len(places)
        widths = view.page.eval_on_selector_all(f"{used} .line", "all => all.map(m => m.style.strokeWidth)")
        assert any(float(w) > 4 for w in widths if w)


def test_axis_labels_are_true(view: Opened) -> None:
    for chart in ("Chance that a chain ends next", "Why thinking loses", "What thinking needs"):
        ticks = view.page.evaluate(TICKS, chart)
        assert len(ticks) > 2, chart
        (y0, v0), (y1, v1) = ticks[0], ticks[-1]
        for y, value in ticks:
            assert value == pytest.approx(v0 + (v1 - v0) * (y - y0) / (y1 - y0), abs=1e-6), chart


def test_ten_questions_have_intervals_instead_of_bands(browser: Any, few: Path) -> None:
    with Opened(browser, few) as view:
        assert view.page.locator(f"{FIRST} .band").count() == 0
        assert view.page.locator(f"{FIRST} .whisker").count() == 5 * 10
        places = view.page.eval_on_selector_all(
            f"{FIRST} .whisker", "all => all.map(w => w.getAttribute('d').match(/M([\\d.]+)/)[1])"
        )
        assert len(set(places)) == len(places)
        view.shoot("ten-questions")


def test_one_colour_has_one_meaning(view: Opened) -> None:
    of = "names => names.map(n => getComputedStyle(document.documentElement).getPropertyValue(n).trim())"
    names = [f"--{n}" for n in ("right-fill", "wrong-fill", "unread-fill", "failed-fill", "accent")]
    colours = view.page.evaluate(of, [*names, *(f"--m{i}" for i in range(5))])
    assert len(set(colours)) == len(colours)
    drawn = view.page.eval_on_selector_all(
        ".plot svg [style]", "all => all.flatMap(e => [e.style.stroke, e.style.fill]).filter(Boolean)"
    )
    known = {f"var(--m{i})" for i in range(5)} | {"var(--ink)", "var(--quiet)", "var(--ground)", "var(--panel)"}
    assert set(drawn) <= known | {"none", 'url("#stripes")'}


def test_figures_and_tables_can_be_saved(view: Opened, tmp_path: Path) -> None:
    page = view.page
    late = pytest.importorskip("playwright.sync_api").TimeoutError

    def save(label: str, tries: int = 3) -> Path:
        # Chromium refuses, without a word, a download that begins more than 5 s after the click that asked for it,
        # which happens where the machine is slow: then it is clicked again, as a person would.
        try:
            with page.expect_download(timeout=20_000) as waiting:
                page.get_by_label(label, exact=True).click()
        except late:
            if tries > 1:
                return save(label, tries - 1)
            raise
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        return path

    for chart in page.eval_on_selector_all("[data-chart]:not([hidden])", "all => all.map(c => c.dataset.chart)"):
        svg = ElementTree.fromstring(save(f"{chart} as SVG").read_text(encoding="utf-8"))
        assert chart in "".join(svg.itertext())
        assert "var(" not in ElementTree.tostring(svg, encoding="unicode")
        rows = list(csv.reader(save(f"{chart} as CSV").read_text(encoding="utf-8").splitlines()))
        assert len(rows) > 1
        assert len({len(row) for row in rows}) == 1
    assert save("Right answers by cap as PNG").read_bytes().startswith(b"\x89PNG")
    table = list(csv.reader(save("Methods at this cap as CSV").read_text(encoding="utf-8").splitlines()))
    assert table[0][:3] == ["method", "right", "95 %"]
    assert table[1][0] == "nothink"
    assert "right " in table[1][3]


def test_methods_and_words_explain_themselves(view: Opened) -> None:
    page = view.page
    page.locator("#methods .term", has_text="iris_plus").hover()
    assert page.inner_text("#tip").split() == about("iris_plus").explained.split()
    page.keyboard.press("Escape")
    assert page.is_hidden("#tip")
    page.locator("#methods th .term", has_text="cut").focus()
    assert "had not ended" in page.inner_text("#tip")


def test_provenance_is_readable(view: Opened) -> None:
    view.page.locator("#about summary").click()
    said = view.page.inner_text("#origin")
    assert "{" not in said
    assert re.search(r"Engine: model\s+scripted", said)
    assert re.search(r"Budgets\s+32, 64, 128, 256, 512", said)


def test_a_wide_table_says_that_there_is_more(browser: Any, few: Path) -> None:
    with Opened(browser, few, viewport={"width": 390, "height": 800}) as view:
        grid = view.page.locator("#one .scroll").last
        assert grid.evaluate("e => e.scrollWidth > e.clientWidth && getComputedStyle(e).backgroundImage") != "none"
        assert grid.evaluate("e => e.tabIndex") == 0
        assert view.page.evaluate("document.querySelector('.grid th.here').getBoundingClientRect().right") <= 390


def test_what_trials_free_would_claim_stands_beside_what_is_charged(browser: Any, tmp_path: Path) -> None:
    study(tmp_path / "run", limit=12, policies="nothink,think,close,agree(every=32)", budgets="64,256,512")
    data = content(tmp_path / "run").data
    cells = data["views"][0]["cells"]
    # Under the smallest cap there is no room for a trial.
    assert all(cell[10] < cell[5] for cell in cells["agree(every=32)"][1:])
    assert all(cell[10] == cell[5] for cell in cells["close"])
    with Opened(browser, write_page(tmp_path / "run")) as view:
        page = view.page
        page.locator("#cap").fill("2")
        spent, free = "[data-chart='Right answers by tokens spent']", "[data-chart='The same with trials free']"
        assert "agree(every=32)" in page.inner_text(f"{free} p")
        scale = "s => [...document.querySelectorAll(`${s} svg text[text-anchor=middle]`)].map(t => t.textContent)"
        assert page.evaluate(scale, spent)[:-2] == page.evaluate(scale, free)[:-2]
        assert "claimed" in page.inner_text("#methods thead")
        page.locator(free).scroll_into_view_if_needed()
        view.shoot("trials")
        assert view.said == []


def test_no_second_picture_without_trials(view: Opened) -> None:
    assert view.page.is_hidden("[data-chart='The same with trials free']")
    assert "claimed" not in view.page.inner_text("#methods thead")
