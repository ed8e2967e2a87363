"""Every method is explained, with a picture, in one text that the command line and docs/methods.md share."""

import ast
from pathlib import Path

import pytest
from click.testing import CliRunner

from thinkcap.cli import group
from thinkcap.core.errors import ConfigError
from thinkcap.policies.methods import about, page, summary
from thinkcap.policies.registry import POLICIES, options_of

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_says_what_it_does_where_its_tokens_go_and_when_to_use_it(name: str) -> None:
    found = about(name)
    assert found.summary.endswith(".")
    assert len(found.summary) <= 95
    picture, _, words = found.text.partition("\n\n")
    drawn = picture.splitlines()
    assert all(line.startswith("    ") for line in drawn)
    assert all(len(line) <= 100 for line in drawn)
    assert any("|" in line for line in drawn)
    assert "Use it" in words
    assert len(words.splitlines()) <= 8


@pytest.mark.parametrize("name", POLICIES)
def test_every_option_is_explained_or_belongs_to_a_method_it_refers_to(name: str) -> None:
    found = about(name)
    text = found.text
    for other in POLICIES:
        if f"`{other}`" in f"{found.summary} {found.text}":
            text += about(other).text
    unexplained = [key for key in found.options if f"`{key}`" not in text and f"`{key}=" not in text]
    assert unexplained == []
    assert set(found.options) <= set(options_of(name))


def test_the_page_of_the_docs_is_this_text() -> None:
    assert (DOCS / "methods.md").read_text(encoding="utf-8") == page(), (
        "write it again: thinkcap policies --markdown > docs/methods.md"
    )


def test_errors_point_to_commands_since_an_installed_package_has_no_docs_folder() -> None:
    source = DOCS.parent / "src" / "thinkcap"
    pointing = []
    for path in source.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        raised = (node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc)
        texts = (part for error in raised for part in ast.walk(error) if isinstance(part, ast.Constant))
        pointing += [f"{path.name}: {text.value}" for text in texts if "docs/" in str(text.value)]
    assert pointing == []


def test_the_help_of_a_study_names_every_method_in_the_same_words() -> None:
    shown = " ".join(CliRunner().invoke(group, ["study", "--help"], terminal_width=200).output.split())
    missing = [name for name in POLICIES if f"{name} {summary(name)}" not in shown]
    assert missing == []


def test_the_command_lists_all_and_explains_one() -> None:
    listed = CliRunner().invoke(group, ["policies"]).output
    assert all(f"\n{name} " in f"\n{listed}" for name in POLICIES)
    one = CliRunner().invoke(group, ["policies", "split(answer=64)"]).output
    assert one.startswith("split: Think under one budget")
    assert "|thought" in one
    assert "Options: think, answer" in one


def test_a_row_s_policy_has_a_sentence_and_a_stranger_s_has_none() -> None:
    assert summary("split(answer=64)") == about("split").summary
    assert summary("my.module:mine") == ""


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'iris'"):
        about("irs")


def test_a_policy_without_words_is_refused_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wordless.py").write_text("def mine(question, cap):\n    yield\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="no docstring"):
        about("wordless:mine")
