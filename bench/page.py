"""Puts what a bench printed into a page of the documentation, so that no figure there is typed by hand.

    written(Path("docs/servers.md"), "curve", text)

writes between `<!-- curve -->` and `<!-- end of curve -->`.
"""

from __future__ import annotations

from pathlib import Path


def written(page: Path, name: str, text: str) -> None:
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, first, rest = page.read_text(encoding="utf-8").partition(begin)
    _, second, tail = rest.partition(end)
    if not first or not second:
        raise SystemExit(f"'{page}' has no marks {begin} and {end} to write between")
    page.write_text(f"{head}{begin}\n\n{text.strip()}\n\n{end}{tail}", encoding="utf-8")
