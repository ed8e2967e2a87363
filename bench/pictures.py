"""Makes the pictures of README.md and docs/ from a real run, so that none is ever drawn by hand.

    thinkcap study --policy nothink,think,close,split --out runs/pictures
    python bench/pictures.py runs/pictures

Writes docs/img: the README's curve, figures, and the explorer as a browser shows it (needs Chromium and
`pip install playwright`; without them the explorer's pictures stay as they are, and that is said). For those of
`thinkcap view` a small study is begun beside the run, shown while it runs, and ended. `--pages` leaves curve and
figures as they are.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thinkcap.report.explorer.page import write_page
from thinkcap.report.files import write_figures
from thinkcap.report.material import load
from thinkcap.report.picture import write_picture

IMG = Path(__file__).parents[1] / "docs" / "img"
FIGURES = ("survival", "causes", "pareto")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    "--no-proxy-server",
]
VIEWS = (
    ("explorer", {"width": 1280, "height": 1040}, "light", 0),
    ("explorer-question", {"width": 1280, "height": 900}, "light", 1),
    ("explorer-dark", {"width": 1280, "height": 1040}, "dark", 0),
    ("explorer-phone", {"width": 390, "height": 800}, "light", 1),
)


def screenshots(run: Path) -> list[Path]:
    program = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
    if program is None or importlib.util.find_spec("playwright") is None:
        print("the pages' pictures were left alone: Chromium or playwright is not installed", file=sys.stderr)
        return []
    from playwright.sync_api import sync_playwright

    page = write_page(run).resolve().as_uri()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        made = [_shot(browser, name, page, size, scheme, at) for name, size, scheme, at in VIEWS]
        made += _of_view(browser, run)
        browser.close()
    return made


def _shot(browser: Any, name: str, address: str, size: dict[str, int], scheme: str, at_question: int = 0) -> Path:
    context = browser.new_context(viewport=size, color_scheme=scheme)
    view = context.new_page()
    view.goto(address)
    view.wait_for_selector("body[data-ready=yes]")
    if at_question:
        view.evaluate("document.getElementById('questions').scrollIntoView()")
        view.locator("#list button").nth(2).click()
    # Headlines and rows come while the page is already there.
    view.wait_for_timeout(300 if address.startswith("file:") else 6000)
    while "…" in [line.inner_text() for line in view.locator("#runs .headline").all()]:
        view.wait_for_timeout(500)
    path = IMG / f"{name}.png"
    view.screenshot(path=path)
    context.close()
    return path


def _of_view(browser: Any, run: Path) -> list[Path]:
    with _growing(run.parent / "pebble-today") as live, _viewing(run.parent) as address:
        wide = {"width": 1280, "height": 720}
        return [
            _shot(browser, "view-live", f"{address}run/{live.name}/", wide | {"height": 900}, "light"),
            _shot(browser, "view", address, wide, "light"),
        ]


@contextmanager
def _growing(folder: Path) -> Iterator[Path]:
    """A study of the bundled model, under way: a good part of its rows is there."""
    shutil.rmtree(folder, ignore_errors=True)
    words = ("--limit", "60", "--policy", "nothink,think,iris", "--out", str(folder))
    study = subprocess.Popen([sys.executable, "-m", "thinkcap", "study", *words], stderr=subprocess.DEVNULL)
    try:
        while study.poll() is None:
            with_rows = folder / "progress.json"
            noted = json.loads(with_rows.read_text()) if with_rows.exists() else {"done": 0, "total": 1}
            if noted["done"] > 0.45 * noted["total"]:
                break
            time.sleep(0.5)
        yield folder
    finally:
        study.kill()
        study.wait()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _viewing(root: Path) -> Iterator[str]:
    words = ("view", str(root), "--port", "0", "--no-open")
    with subprocess.Popen([sys.executable, "-m", "thinkcap", *words], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().split()[0]
        finally:
            server.kill()


def figures(run: Path) -> list[Path]:
    material = load([run])
    made = [write_picture(material, IMG / "curve.svg")]
    for drawn in write_figures(FIGURES, material, IMG):
        # The web shows SVG; the PNG beside it would only be weight.
        made += [f for f in drawn.files if f.suffix == ".svg"]
        for file in drawn.files:
            if file.suffix == ".png":
                file.unlink()
    return made


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("run", type=Path)
    options.add_argument("--pages", action="store_true")
    chosen = options.parse_args()
    IMG.mkdir(parents=True, exist_ok=True)
    made = [] if chosen.pages else figures(chosen.run)
    made += screenshots(chosen.run)
    for path in made:
        print(f"{path.relative_to(IMG.parents[1])}  {path.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
