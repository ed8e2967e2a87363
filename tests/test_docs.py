"""What the documentation names exists: verbs and their options, files, modules, `make` targets."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from thinkcap.cli import group

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}

FILE = re.compile(
    r"\b((?:bench|tests|training|docs|src|deploy)/[\w/.-]+\.(?:py|md|toml|json|svg|png|jsonl|yaml|service)\b)"
)


def commands(text: str) -> Iterator[str]:
    """`thinkcap ...` in backticks, or at the beginning of a line of a code block, without a comment after it."""
    blocks = "".join(re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)).replace("\\\n", " ")
    lines = re.findall(r"^(?:\$ )?(thinkcap [a-z].*)", blocks, re.MULTILINE)
    for found in [*lines, *re.findall(r"`(thinkcap [a-z][^`\n]*)`", text)]:
        yield re.split(r"\s+#\s|\s{3,}", found)[0]


@pytest.mark.parametrize("page", TEXTS)
def test_commands_name_verbs_and_options_that_exist(page: str) -> None:
    wrong = []
    for command in commands(TEXTS[page]):
        # What stands in quotes behind --serve-args is another program's.
        ours = re.sub(r"--serve-args\s+('[^']*'|\"[^\"]*\")", "--serve-args ARGS", command)
        words = shlex.split(ours.replace("'", " ").replace('"', " "))[1:]
        verb = group.get_command(click.Context(group), words[0])
        if verb is None:
            wrong.append(command)
            continue
        known = {option for param in verb.params for option in (*param.opts, *param.secondary_opts)} | {"--help"}
        wrong += [f"{command}: {w}" for w in words if w.startswith("--") and w.partition("=")[0] not in known]
    assert wrong == []


@pytest.mark.parametrize("page", TEXTS)
def test_files_and_targets_it_names_exist(page: str) -> None:
    text = TEXTS[page]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    wrong = [f"make {name}" for name in re.findall(r"`make ([a-z-]+)", text) if name not in targets]
    named = re.findall(FILE, text)
    # Recipes name files that are yet to be written; tests/test_recipes.py writes them.
    wrong += [name for name in named if page != "CONTRIBUTING.md" and not (ROOT / name).exists()]
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    wrong += [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    assert wrong == []


def test_modules_the_tour_names_exist() -> None:
    rooms = {path.name for path in (ROOT / "src" / "thinkcap").iterdir() if path.is_dir()}
    named = re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", TEXTS["docs/tour.md"] + TEXTS["docs/security.md"])
    ours = [name for name in named if name.split("/")[0] in rooms]
    assert len(ours) > 15
    assert [name for name in ours if not (ROOT / "src" / "thinkcap" / name).exists()] == []


def test_tests_that_security_names_exist() -> None:
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "security.md").read_text()))
    written = {
        name for p in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", p.read_text())
    }
    assert named
    assert named <= written
