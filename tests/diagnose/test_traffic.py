"""Answers without a verdict: counts are exact, other caps lie inside their intervals, what is missing is said."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinkcap.cli import main
from thinkcap.core.errors import DataError
from thinkcap.diagnose.diagnosis import Diagnosis, diagnose
from thinkcap.logs.door import read
from thinkcap.statistics.capped import under
from thinkcap.study.values import Price
from thinkcap.verdict.page import as_json, as_text

CAPS = (128, 512, 2048)


def body(number: int, length: int, cap: int, model: str = "some-model") -> dict[str, Any]:
    """A reply of which we know everything: cut where longer than its cap, every third of those empty."""
    ended = length <= cap
    content = "42" if ended else None if number % 3 == 0 else "So"
    choice = {"message": {"content": content}, "finish_reason": "stop" if ended else "length"}
    return {
        "model": model,
        "choices": [choice],
        "usage": {"prompt_tokens": 10, "completion_tokens": min(length, cap)},
    }


def line(number: int, reply: dict[str, Any] | None) -> str:
    response = {"status_code": 200, "body": reply} if reply else None
    error = None if reply else {"message": "boom"}
    return json.dumps({"id": f"b{number}", "custom_id": f"q{number}", "response": response, "error": error})


def batch(path: Path, lengths: np.ndarray[Any, Any], caps: np.ndarray[Any, Any]) -> Path:
    pairs = zip(lengths.tolist(), caps.tolist(), strict=True)
    path.write_text("".join(line(i, body(i, *pair)) + "\n" for i, pair in enumerate(pairs)))
    return path


def simulated(tmp_path: Path, seed: int, n: int = 2000) -> tuple[Diagnosis, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    lengths = np.maximum(1, rng.lognormal(5.5, 0.9, n)).astype(int)
    caps = rng.choice(CAPS, n)
    path = batch(tmp_path / f"batch{seed}.jsonl", lengths, caps)
    found = diagnose(read([path]), price=Price(1, 0, 2))
    cut = np.flatnonzero(lengths > caps)
    (traffic,) = found.traffic
    assert (traffic.rows, traffic.cut.k, traffic.empty.k) == (n, len(cut), int((cut % 3 == 0).sum()))
    spent = np.minimum(lengths, caps)
    assert (traffic.all.tokens, traffic.on_lost.tokens) == (spent.sum(), spent[cut].sum())
    assert traffic.on_lost.money == pytest.approx((10 * len(cut) + 2 * spent[cut].sum()) / 1e6)
    return found, lengths


def test_counts_are_exact_and_other_caps_lie_inside_their_intervals(tmp_path: Path) -> None:
    inside = caps = 0
    for seed in range(10):
        found, lengths = simulated(tmp_path, seed)
        for u in found.traffic[0].under:
            caps += 1
            inside += u.low <= (lengths <= u.cap).mean() <= u.high
            inside += u.tokens_low <= np.minimum(lengths, u.cap).mean() <= u.tokens_high
    assert inside >= 0.95 * 2 * caps


def test_beyond_the_largest_cap_only_bounds_are_given_and_it_is_said(tmp_path: Path) -> None:
    found, lengths = simulated(tmp_path, 0)
    last = found.traffic[0].under[-1]
    assert (last.cap, last.seen, last.high) == (4096, False, 1.0)
    assert last.low <= (lengths <= 2048).mean()
    assert "Nothing was observed beyond 2,048 tokens" in as_text(found)


def test_a_cap_below_all_that_were_seen_is_counted() -> None:
    found = under([3, 5, 9, 9], [True, True, True, False], 5)
    assert (found.share, found.low, found.high, found.open) == (0.5, 0.5, 0.5, 0)
    assert found.tokens == found.tokens_low == found.tokens_high == 4.5


def test_an_answer_cut_earlier_is_open() -> None:
    found = under([4, 8], [False, True], 8)
    assert (found.ends, found.cut, found.open) == (1, 0, 1)
    assert found.low >= 0.5
    assert found.high == 1.0


@pytest.mark.parametrize(
    ("reply", "cut", "empty"),
    [
        ({"choices": [{"text": "4", "finish_reason": "length"}]}, 1, 0),
        ({"choices": [{"message": {"content": None, "tool_calls": [{}]}, "finish_reason": "tool_calls"}]}, 0, 0),
        ({"choices": [{"message": {"content": "<think>hm, so"}, "finish_reason": "length"}]}, 1, 1),
        ({"choices": [{"message": {"content": "<think>hm</think>4"}, "finish_reason": "stop"}]}, 0, 0),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []}, 1, 1),
        (
            {"status": "completed", "output": [{"type": "message", "content": [{"text": "4"}]}]},
            0,
            0,
        ),
        ({"stop_reason": "max_tokens", "content": [{"type": "thinking", "thinking": "hm"}]}, 1, 1),
        ({"stop_reason": "end_turn", "content": [{"type": "text", "text": "4"}]}, 0, 0),
    ],
)
def test_replies_of_every_kind(tmp_path: Path, reply: dict[str, Any], cut: int, empty: int) -> None:
    path = tmp_path / "batch.jsonl"
    path.write_text(line(0, {"model": "m", **reply}) + "\n")
    (found,) = diagnose(read([path])).traffic
    assert (found.cut.k, found.empty.k, found.curve) == (cut, empty, None)


def test_several_answers_in_a_reply_have_no_length_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "batch.jsonl"
    reply = body(1, 10, 100)
    reply["choices"] *= 2
    path.write_text(line(0, reply) + "\n" + line(1, body(1, 20, 100)) + "\n")
    (found,) = diagnose(read([path])).traffic
    assert (found.rows, found.all.answers, found.all.tokens) == (3, 1, 20)


def test_models_are_kept_apart_and_failures_are_no_answers(tmp_path: Path) -> None:
    path = tmp_path / "batch.jsonl"
    path.write_text(
        "".join(
            text + "\n" for text in (line(0, None), line(1, body(1, 9, 5, "one")), line(2, body(2, 3, 5, "two")))
        )
    )
    found = diagnose(read([path]))
    assert [(t.model, t.rows, t.cut.k) for t in found.traffic] == [("one", 1, 1), ("two", 1, 0)]
    assert sum(t.failed for t in found.traffic) == 1


def test_a_batch_in_which_everything_failed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "batch.jsonl"
    path.write_text(line(0, None) + "\n")
    with pytest.raises(DataError, match="none of its 1 lines has an answer"):
        read([path])


def test_rows_of_any_tool_without_golds(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [
        {"id": i, "output": "" if i < 2 else "4", "tokens": 10 + i, "finish_reason": "length" if i < 3 else "stop"}
        for i in range(10)
    ]
    path.write_text("".join(json.dumps({**row, "group": "ab"[row["id"] % 2]}) + "\n" for row in rows))
    (found,) = diagnose(read([path])).traffic
    assert (found.cut.k, found.empty.k, found.lost.k) == (3, 2, 3)
    assert [(c.name, c.lost.k, c.lost.n) for c in found.callers] == [("a", 2, 5), ("b", 1, 5)]


def test_judged_rows_are_none_of_its_business(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,correct,tokens,budget\n1,1,5,10\n2,0,10,10\n")
    found = diagnose(read([path]))
    assert found.traffic == ()
    assert json.loads(as_json(found))["traffic"] == []


def test_the_words_and_the_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    path = batch(tmp_path / "batch.jsonl", rng.integers(1, 400, 300), np.full(300, 200))
    assert main(["diagnose", str(path), "--price", "1,0,2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (traffic,) = found["traffic"]
    assert found["version"] == 2
    assert {"cut", "empty", "lost", "on_lost", "under", "enough", "callers"} <= set(traffic)
    assert main(["diagnose", str(path), "--price", "1,0,2"]) == 0
    text = capsys.readouterr().out
    for words in ("were cut by their cap", "and cost", "would end", "No answer here has been judged"):
        assert words in text


def test_simulate_counts_what_is_known_and_bounds_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(5)
    lengths, caps = rng.integers(1, 400, 500), rng.choice([100, 300], 500)
    path = batch(tmp_path / "batch.jsonl", lengths, caps)
    for cap in (80, 200, 300):
        assert main(["simulate", str(path), "--cap", str(cap), "--price", "1,0,2", "--json"]) == 0
        (found,) = json.loads(capsys.readouterr().out)
        u = found["under"]
        assert u["low"] <= (lengths <= cap).mean() <= u["high"]
        assert u["tokens_low"] <= np.minimum(lengths, cap).mean() <= u["tokens_high"]
        assert (u["low"] == u["high"]) == (cap < 100)
    assert main(["simulate", str(path), "--cap", "600", "--price", "1,0,2"]) == 0
    text = capsys.readouterr().out
    assert "these are bounds, not estimates" in text
    assert "for output" in text
