"""CI ends by its own limits, and its long measurements scale."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from campaign import SUITES, listed, scaled  # noqa: E402


def test_the_limits_of_ci_add_up_to_75_minutes_at_most() -> None:
    text = (ROOT / ".ci" / "run").read_text()
    limits = [int(found) for found in re.findall(r"(?:at_most|unless_late) (\d+) ", text)]
    grace = int(re.findall(r"--kill-after=(\d+)", text)[0])
    assert len(limits) >= 8
    assert sum(limits) + grace * len(limits) <= 75 * 60


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
