"""CI ends by its own limits, and its long measurements scale."""

import re
import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bench"))

import campaign  # noqa: E402
from campaign import SUITES, Suite, listed, scaled  # noqa: E402

MOST_S = 75 * 60


def test_the_limits_of_ci_add_up_to_75_minutes_at_most() -> None:
    text = (ROOT / ".ci" / "run").read_text()
    limits = [int(found) for found in re.findall(r"at_most (\d+) ", text)]
    grace = int(re.findall(r"--kill-after=(\d+) \"\$@\"", text)[0])
    assert len(limits) >= 10
    # Real servers get what is left before this moment; what failed there is tried again after it.
    (moment,) = map(int, re.findall(r"left=\$\(\((\d+) - SECONDS\)\)", text))
    (last,) = map(int, re.findall(r"--kill-after=(\d+) \"\$left\"", text))
    before, after = limits[:-1], limits[-1]
    assert sum(before) + grace * len(before) <= moment - 300, "five minutes for real servers, at the least"
    assert moment + last + after + grace <= MOST_S


def test_a_campaign_whose_time_is_over_says_what_was_not_run_and_fails_for_what_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    suites = (Suite("bad", "fails", "-c 'raise SystemExit(3)'", 1), Suite("late", "never", "-c 'print(1)'", 1))
    monkeypatch.setattr(campaign, "SUITES", suites)
    # Every look at the clock takes 15 s: it is over once the first suite has failed twice.
    monkeypatch.setattr(campaign, "time", SimpleNamespace(monotonic=count(0, 15).__next__))
    monkeypatch.setattr(sys, "argv", ["campaign.py", "--share", "0.5", "--seconds", "100"])
    assert campaign.main() == 1
    said = capsys.readouterr().out
    assert "bad: FAILED with status 3" in said
    assert "failed: bad" in said
    assert "late: not run, the 100 s are over" in said


def test_a_share_scales_what_stands_in_braces() -> None:
    words = scaled("bench/x.py --requests {2000} --streams {10} --n 3 -m 'a and b'", 0.05)
    assert words == ["bench/x.py", "--requests", "100", "--streams", "1", "--n", "3", "-m", "a and b"]


def test_every_suite_exists_and_has_a_name_of_its_own() -> None:
    assert len({suite.name for suite in SUITES}) == len(SUITES)
    for suite in SUITES:
        words = scaled(suite.command, 1)
        script = words[-1] if words[0] == "-m" else words[0]
        assert (ROOT / script).exists(), suite
        assert (ROOT / suite.page).exists(), suite


def test_the_table_of_suites_says_which_never_ran_in_full() -> None:
    rows = listed().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == [suite.name for suite in SUITES]
    for suite, row in zip(SUITES, rows, strict=True):
        ran = f"<!-- end of {suite.name} -->" in (ROOT / suite.page).read_text(encoding="utf-8")
        assert ran or row.endswith("| not yet run in full |")
