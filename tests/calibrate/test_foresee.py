"""A profile on watched traffic: each request by its cap, what the study measured, and what nobody knows."""

import json
from pathlib import Path

import pytest

from thinkcap.calibrate.foresee import foreseen
from thinkcap.calibrate.profile import Profile
from thinkcap.cli import main
from thinkcap.core.errors import DataError
from thinkcap.logs import read

PROFILE = """
model = "m"
[[cap]]
at_least = 32
policy = "nothink"
accuracy = 0.6
n = 200
tokens = 20
[[cap]]
at_least = 256
policy = "close"
accuracy = 0.9
n = 200
tokens = 150
[[cap]]
at_least = 1024
policy = "close"
"""


def journal(path: Path, caps: list[int | None]) -> Path:
    lines = []
    for number, cap in enumerate(caps):
        answer = {"finish": "length", "tokens": cap or 10, "empty": number % 2 == 0}
        entry = {"watch": 1, "id": str(number), "model": "m", "cap": cap, "complete": True, "answers": [answer]}
        lines.append(json.dumps(entry) + "\n")
    path.write_text("".join(lines))
    return path


def test_requests_get_the_policy_of_their_cap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, profile = journal(tmp_path / "watch-1.jsonl", [64, 64, 64, 300, 2000, 8, None]), tmp_path / "p.toml"
    profile.write_text(PROFILE)
    (found,) = foreseen(read([file]).arms, Profile.from_file(profile))
    assert dict(found.policies) == {"nothink": 4, "close": 2}
    assert (found.requests, found.without_cap, found.empty, found.measured) == (6, 1, 3, 4)
    assert found.tokens == 3 * 64 + 300
    assert found.accuracy is not None
    value, low, high = found.accuracy
    assert value == pytest.approx((3 * 0.6 + 0.9) / 4)
    assert low < value < high
    assert found.tokens_each == pytest.approx((3 * 20 + 150) / 4)
    assert main(["simulate", str(file), "--profile", str(profile), "--price", "1,0,2"]) == 0
    text = capsys.readouterr().out
    for words in (
        "the profile chooses nothink 4, close 2",
        "67.5 % right",
        "For 2 requests",
        "1 request had no cap",
    ):
        assert words in text
    with pytest.raises(SystemExit):
        main(["simulate", str(file)])
    assert "--cap N or --profile FILE" in capsys.readouterr().err


def test_traffic_without_caps_is_refused(tmp_path: Path) -> None:
    file, profile = journal(tmp_path / "watch-1.jsonl", [None]), tmp_path / "p.toml"
    profile.write_text(PROFILE)
    with pytest.raises(DataError, match="has a cap"):
        foreseen(read([file]).arms, Profile.from_file(profile))
