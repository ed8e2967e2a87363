import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thinkcap.allocate.features import NAMES, asked, features
from thinkcap.allocate.signals import signal
from thinkcap.core.types import Question


def by_name(text: str) -> dict[str, float]:
    return dict(zip(NAMES, features(text).tolist(), strict=True))


def test_what_a_question_shows() -> None:
    found = by_name("Solve $\\frac{1}{2} x = 300$ for x. How many triangles have area 1,000?")
    assert found["sentences"] == 2
    assert found["digits"] == 1 + 1 + 3 + 4
    assert found["numbers"] == 4
    assert found["magnitude"] == np.log10(1001)
    assert found["latex"] == 3
    assert found["fractions_roots"] == 1
    assert (found["algebra"], found["geometry"], found["counting"]) == (0, 1, 1)
    assert by_name("3 + 4 * 2")["operators"] == 2
    assert by_name("not True and False")["operators"] == 2


@given(st.text(max_size=300))
def test_any_text_has_thirteen_finite_numbers(text: str) -> None:
    found = features(text)
    assert found.shape == (13,)
    assert np.isfinite(found).all()


def test_the_last_word_of_the_user_counts() -> None:
    turns = ({"role": "user", "content": "1"}, {"role": "assistant", "content": "2"})
    assert asked(Question("q", (*turns, {"role": "user", "content": [{"type": "text", "text": "3"}]}))) == "3"
    assert asked(Question("q", ({"role": "system", "content": "x"},))) == ""


@given(st.text(max_size=400))
def test_a_signal_is_one_of_three(text: str) -> None:
    assert signal(text) in (0, 1, 2)


def test_signals_of_thoughts() -> None:
    steps = " ".join(f"step {i}: {i} plus {i * i} gives {i + i * i};" for i in range(40))
    assert signal(steps) == 0
    assert signal(steps + " Wait, that is off.") == 1
    assert signal(steps + "\nCheck: 5 - 2 = 3") == 1
    assert signal(steps + " so it is 7, or maybe not, so let us see:" * 20) == 2
