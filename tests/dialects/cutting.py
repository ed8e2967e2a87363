"""A text in pieces of any size, taken apart as it comes: the same must come of it as of the whole text."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from thinkcap.core.thinking import Delta
from thinkcap.core.types import Mode
from thinkcap.dialects import Dialect


def streamed(
    dialect: Dialect, text: str, cuts: list[int], mode: Mode, opened: bool, closed: bool
) -> tuple[str, str]:
    got = {"thought": "", "answer": ""}

    def emit(delta: Delta) -> None:
        assert delta.channel is not None
        got[delta.channel] += delta.text

    take, finish = dialect.stream(emit, mode=mode, opened=opened, closed=closed)
    for i, j in pairwise([0, *cuts, len(text)]):
        take(text[i:j])
    finish()
    return got["thought"], got["answer"]


def agree_on_any_text(dialect: Dialect, data: st.DataObject) -> None:
    """Marks, halves of marks and words in any order, in any state of the prompt, cut anywhere."""
    marks = dialect.marks
    pieces = [marks.open_tag, marks.close_tag, *marks.wrappers, *marks.ends, *marks.calls]
    pieces += [*marks.tails, *marks.call_ends]
    pieces += [m[: len(m) // 2] for m in pieces] + ["\n", " ", "a", "5", "<", "[", "◁", "```\n", "``"]
    text = "".join(data.draw(st.lists(st.sampled_from([p for p in pieces if p]), max_size=10), label="text"))
    mode: Mode = data.draw(st.sampled_from(["think", "nothink"]))
    opened, closed = data.draw(st.booleans()), data.draw(st.booleans())
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=len(text))))
    thought, answer = dialect.split(text, mode=mode, opened=opened, closed=closed)
    assert streamed(dialect, text, cuts, mode, opened, closed) == (thought or "", answer or "")
