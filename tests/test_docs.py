"""What the documentation names exists: verbs and their options, files, modules, `make` targets."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest

from thinkcap.cli import group
from thinkcap.gateway.config import ServeConfig
from thinkcap.logs.columns import FIELDS

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


def headings(page: Path) -> set[str]:
    """Anchors as GitHub makes them of a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    plain = (re.sub(r"[`*]", "", title).strip().lower() for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", TEXTS)
def test_links_into_a_page_lead_to_a_heading(page: str) -> None:
    found = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", TEXTS[page])
    pages = [((ROOT / page).parent / name if name else ROOT / page, anchor) for name, anchor in found]
    assert [anchor for target, anchor in pages if anchor not in headings(target)] == []


def test_the_readme_lists_every_extra_a_user_may_install() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for_users = set(project["optional-dependencies"]) - {"dev", "clients"}
    assert for_users == set(re.findall(r"^\| `([a-z-]+)` \|", TEXTS["README.md"].partition("## Install")[2], re.M))


def test_every_setting_of_the_gateway_is_documented_with_its_default() -> None:
    (sample,) = [
        tomllib.loads(block)
        for block in re.findall(r"```toml\n(.*?)```", TEXTS["docs/serve.md"], re.DOTALL)
        if "default_max_tokens" in block
    ]
    chosen = {"model", "profile", "keys"}
    base = ServeConfig()
    shown = ServeConfig.from_mapping({key: value for key, value in sample.items() if key not in chosen})
    assert shown == base
    elsewhere = "".join(TEXTS[f"docs/{name}.md"] for name in ("serve", "fleet", "watch"))
    unnamed = [f.name for f in fields(base) if f.name not in sample and not re.search(rf"\b{f.name}\b", elsewhere)]
    assert unnamed == []


def test_the_columns_a_log_may_have_are_the_documented_ones() -> None:
    listed = re.search(r"Fields: ([^|]+) \|", TEXTS["docs/diagnosis.md"])
    assert listed is not None
    assert set(listed[1].split(", ")) == set(FIELDS)
