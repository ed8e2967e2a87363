"""Makes the pictures of README.md and docs/ from a real run, so that none is ever drawn by hand.

    thinkcap study --policy nothink,think,close,split --out runs/pictures
    python bench/pictures.py runs/pictures

Writes docs/img: the README's curve, figures, and the explorer as a browser shows it (needs Chromium and
`pip install playwright`; without them the explorer's pictures stay as they are, and that is said).
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
from pathlib import Path

from thinkcap.report.explorer.page import write_page
from thinkcap.report.files import write_figures
from thinkcap.report.material import load
from thinkcap.report.picture import write_picture

IMG = Path(__file__).parents[1] / "docs" / "img"
FIGURES = ("survival", "causes", "pareto")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
VIEWS = (
    ("explorer", {"width": 1280, "height": 1040}, "light", 0),
    ("explorer-question", {"width": 1280, "height": 900}, "light", 1),
    ("explorer-dark", {"width": 1280, "height": 1040}, "dark", 0),
    ("explorer-phone", {"width": 390, "height": 800}, "light", 1),
)


def screenshots(page: Path) -> list[Path]:
    program = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
    if program is None or importlib.util.find_spec("playwright") is None:
        print("the explorer's pictures were left alone: Chromium or playwright is not installed", file=sys.stderr)
        return []
    from playwright.sync_api import sync_playwright

    made = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        for name, size, scheme, at_question in VIEWS:
            context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
            view = context.new_page()
            view.goto(page.resolve().as_uri())
            view.wait_for_function("document.body.dataset.ready === 'yes'")
            if at_question:
                view.evaluate("document.getElementById('questions').scrollIntoView()")
                view.locator("#list button").nth(2).click()
            view.wait_for_timeout(300)
            path = IMG / f"{name}.png"
            view.screenshot(path=path)
            made.append(path)
            context.close()
        browser.close()
    return made


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("run", type=Path)
    run = options.parse_args().run
    IMG.mkdir(parents=True, exist_ok=True)
    material = load([run])
    made = [write_picture(material, IMG / "curve.svg")]
    for drawn in write_figures(FIGURES, material, IMG):
        # The web shows SVG; the PNG beside it would only be weight.
        made += [f for f in drawn.files if f.suffix == ".svg"]
        for file in drawn.files:
            if file.suffix == ".png":
                file.unlink()
    made += screenshots(write_page(run))
    for path in made:
        print(f"{path.relative_to(IMG.parents[1])}  {path.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
