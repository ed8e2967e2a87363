"""All 752 statistics computed from real per-sample records, reproduced through `thinkcap diagnose ... --json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from thinkcap.cli.diagnose import command

# This one statistic speaks of two more files than its entry names.
_MORE_FILES = {
    "entropy.tokens_equal_main_run": (
        "results/entropy_dynamics/checkpoint_entropy_Qwen3_8B_b512_100.json",
        "results/gap_fill/8b_highbudget/nothink_baseline_Qwen3-8B_gsm8k_20260407_121035.json",
    )
}
_P_VALUE_TAIL = ("mcnemar", "pair_iris_only", "only_full_only")


def _same(got: Any, wanted: Any, is_test: bool, last: bool = False) -> bool:
    if isinstance(wanted, dict):
        return (
            isinstance(got, dict)
            and set(got) == set(wanted)
            and all(_same(got[k], wanted[k], is_test) for k in wanted)
        )
    if isinstance(wanted, list):
        return (
            isinstance(got, list)
            and len(got) == len(wanted)
            and all(
                _same(g, w, is_test, i == len(wanted) - 1)
                for i, (g, w) in enumerate(zip(got, wanted, strict=True))
            )
        )
    if wanted is None or isinstance(wanted, bool | str):
        return bool(got == wanted and type(got) is type(wanted))
    if isinstance(wanted, int):
        return bool(got == wanted)
    if got is None or isinstance(got, str):
        return False
    if is_test and last:
        return bool(abs(got - wanted) <= 1e-4 * abs(wanted))
    return bool(abs(got - wanted) <= 1e-6)


def _diagnosed(root: Path, files: list[str]) -> dict[str, Any]:
    result = CliRunner().invoke(command, [*(str(root / f) for f in files), "--json", "--draws", "0"])
    assert result.exit_code == 0, result.output
    statistics: dict[str, Any] = json.loads(result.output)["statistics"]
    return statistics


def test_all_expected_statistics(shared: Path) -> None:
    root = shared / "data" / "authors"
    expected = json.loads((root / "expected.json").read_text())
    assert len(expected) == 752
    seen: dict[tuple[str, ...], dict[str, Any]] = {}
    wrong = []
    for entry in expected:
        name = entry["statistic"]
        files = (*entry["file"].split(" + "), *_MORE_FILES.get(name, ()))
        if files not in seen:
            seen[files] = _diagnosed(root, list(files))
        got = seen[files].get(name, "absent")
        if not _same(got, entry["value"], any(word in name for word in _P_VALUE_TAIL)):
            wrong.append((entry["file"], name, entry["value"], got))
    assert wrong == []


@pytest.mark.parametrize(
    "files",
    [
        (
            "results/iris_improved_20260417/8b_math500_b4096_ba512_n500/checkpoint_iris_500.json",
            "results/iris_math500_fullscale_b4096/b4096_iris_compact.json",
        ),
        (
            "results_kun/math500_experiments/math500_Qwen3-8B_nothink_1024_20260401_011643.json",
            "results/split_budget/split_budget_Qwen3_8B_math500_n200_B512_1024_20260409_084433.json",
            "results_kun/math500_hf_thinking/math500_Qwen3-8B_thinking_1024_20260401_032926.json",
        ),
    ],
)
def test_the_order_of_files_changes_no_statistic(shared: Path, files: tuple[str, ...]) -> None:
    root = shared / "data" / "authors"
    found = _diagnosed(root, list(files))
    assert found
    assert _diagnosed(root, list(reversed(files))) == found


@pytest.mark.parametrize(("got", "wanted"), [([1, 2], [1, 3]), ({"a": 1}, {"b": 1}), (0, None), (0.5, 0.50001)])
def test_the_comparison_can_fail(got: Any, wanted: Any) -> None:
    assert not _same(got, wanted, is_test=False)


def test_the_flag_is_an_option_and_is_named(shared: Path) -> None:
    file = (
        shared / "data/authors/results/gap_fill/8b_highbudget/nothink_baseline_Qwen3-8B_gsm8k_20260407_121035.json"
    )
    runner = CliRunner()
    plain = json.loads(runner.invoke(command, [str(file), "--json", "--draws", "0"]).output)
    by_flag = json.loads(runner.invoke(command, [str(file), "--json", "--draws", "0", "--stop", "flag"]).output)

    def think(page: dict[str, Any]) -> dict[str, Any]:
        return next(a for a in page["findings"][0]["arms"] if a["policy"] == "think")

    assert (think(plain)["parts"]["ended"], think(plain)["criterion"]) == (563, "tokens < b")
    assert think(by_flag)["parts"]["ended"] == 493
    assert "0.95" in think(by_flag)["criterion"]
    assert any("int(0.95 b)" in note for note in plain["notes"])


def test_different_orders_are_not_paired(shared: Path) -> None:
    """Files in shuffled order against files in test order: the same ids, other questions."""
    root = shared / "data/authors/results_kun"
    nine = root / "thinking_hf/qwen35_9b_512/thinking_512_20260331_181157.json"
    eight = root / "nothink_fullset/nothink_baseline_Qwen3-8B_gsm8k_20260329_000345.json"
    page = json.loads(CliRunner().invoke(command, [str(nine), str(eight), "--json", "--draws", "0"]).output)
    assert len(page["findings"]) == 2
    assert all({a["budget"] for a in f["arms"]} != {256, 512} for f in page["findings"])
    pairs = {(c["first"], c["second"], c["matched_by"]) for c in page["comparisons"]}
    assert pairs == {("think@256", "nothink@256", "cap")}


def test_the_worked_example_of_the_docs_is_what_the_command_prints(shared: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "diagnosis.md").read_text()
    block = page.split("## A worked example")[1].split("```")[1]
    sentences = [s.strip() for s in " ".join(block.split()).replace("...", "\n").split("\n")]
    root = shared / "data" / "authors"
    files = [
        *sorted((root / "results_kun/nothink_fullset").glob("*.json")),
        *sorted((root / "results/gap_fill/8b_highbudget").glob("*.json")),
    ]
    printed = " ".join(CliRunner().invoke(command, [str(f) for f in files]).output.split())
    for sentence in filter(None, sentences):
        for part in sentence.split(". "):
            assert part.rstrip(".") in printed
