"""The files of the explorer's page; `look.css` and `dom.js` are the gateway's page's too.

asset("look.css")
"""

from importlib import resources


def asset(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")
