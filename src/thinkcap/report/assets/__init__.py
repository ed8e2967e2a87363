"""The files of the explorer's page, and what every page of ours shares: look, headers, scripts in one.

asset("look.css"), one_script(asset("dom.js"), "start()")
"""

from importlib import resources

PAGE_HEADERS = {
    # Trusted types: a browser that knows them refuses to make markup out of text, whatever a model wrote.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
"""Of a page that is served: nothing from anywhere else, and nothing kept."""


def asset(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def one_script(*parts: str) -> str:
    """The parts as one program with names of its own."""
    inside = "\n".join(parts)
    return f'"use strict";\n(() => {{\n{inside}\n}})();\n'
