"""The page around the data: as one file that needs nothing, or with its style and script fetched from a server.

alone(data, details)                       # `report.html`
served(data, brand="...")                  # what `thinkcap view` answers with
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any

from thinkcap.report.assets import asset, one_script

_SCRIPTS = (
    *("dom.js", "tips.js", "save.js", "svg.js", "state.js", "plots.js", "charts.js", "causes.js"),
    *("table.js", "list.js", "question.js", "main.js"),
)
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'self' file:; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def script(*more: str) -> str:
    """All of it; `more` are scripts of a server that shows the page."""
    return one_script(*map(asset, _SCRIPTS), *more)


def style() -> str:
    return asset("look.css") + asset("page.css")


def alone(data: Mapping[str, Any], details: str) -> str:
    """`details` is JSON by question number, already safe."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    parts = {"POLICY": policy, "STYLE": f"<style>\n{style()}</style>", "SCRIPT": f"<script>\n{script()}</script>"}
    return _filled(data, details, parts | {"BRAND": "thinkcap"})


def served(data: Mapping[str, Any], *, brand: str) -> str:
    """Style and script are files of the server, which says in its headers what the page may do."""
    links = {
        "STYLE": '<link rel="stylesheet" href="/page.css">',
        "SCRIPT": '<script src="/page.js"></script>',
    }
    return _filled(data, "{}", links | {"POLICY": "", "BRAND": brand})


def _filled(data: Mapping[str, Any], details: str, parts: Mapping[str, str]) -> str:
    title = html.escape(f"thinkcap: {data['model']}")
    known = {**parts, "TITLE": title, "DATA": safe_json(data), "DETAILS": details}
    # One pass over the template: a mark inside somebody's text is never looked at.
    return "".join(known.get(piece, piece) for piece in asset("page.html").split("%%"))


def safe_json(value: Any) -> str:
    """JSON that can stand in a script element."""
    return in_script(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def in_script(text: str) -> str:
    """JSON in which nothing can close a script element or open another.

    Marks that turn the direction of text would turn our words behind a stranger's too: U+FFFD takes their place.
    """
    text = _TURNING.sub("\N{REPLACEMENT CHARACTER}", text)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text
