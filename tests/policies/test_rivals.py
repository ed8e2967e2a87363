"""Rivals that try answers on the way, decision by decision against a plain reading of what their papers say.

Everything is written down beforehand: the thought, what each trial would say, and how likely each of its tokens
is. One character is one token.
"""

import asyncio
import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Piece, drive, stream
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.types import Question, Run
from thinkcap.engines.scripted import ScriptedEngine, encode
from thinkcap.policies.registry import policy

Q = Question("q", ({"role": "user", "content": "2+3?"},), kind="number")
LEAD = PROMPTS.close + "#### "
FORCED = len(encode(LEAD))
CLOSE = len(encode(PROMPTS.close))
ROOM = 4000
LOOP = asyncio.Runner()


@dataclass
class World:
    """A model whose thought is `thought`; a trial after n tokens of it says what stands there in the lists."""

    thought: str
    says: list[str] = field(default_factory=lambda: ["5\n"])
    chances: list[float] = field(default_factory=lambda: [0.9])
    own: str = "#### 6"
    """Its answer when it has closed the thought itself; after our close it says 8."""

    @property
    def trace(self) -> str:
        return f"<think>{self.thought}</think>{self.own}"

    def trial(self, tokens: int) -> str:
        return self.says[tokens % len(self.says)]

    def chance(self, tokens: int) -> float:
        return self.chances[tokens % len(self.chances)]

    def engine(self) -> ScriptedEngine:
        def reply(prompt: str) -> str:
            turn = prompt.rpartition("[assistant]")[2]
            if not turn:
                return self.trace
            if turn.endswith(LEAD):
                return self.trial(len(encode(turn.removesuffix(LEAD))))
            return "#### 8"

        def odds(before: str, token: str) -> tuple[float, tuple[float, ...]]:
            turn = before.rpartition("[assistant]")[2]
            p = self.chance(len(encode(turn.partition(LEAD)[0])))
            return math.log(p), (math.log(p), math.log1p(-p))

        return ScriptedEngine(reply, odds=odds)


@dataclass
class Seen:
    """What a method decides: how much is thought, what the trials cost, and who answers."""

    thought: int
    trials: int
    trial_tokens: int
    stopped: bool
    answer: str

    @property
    def authors(self) -> int:
        """Tokens as the authors count them: the thought, and the answer where the model writes it."""
        if self.answer in ("6", "8"):
            return self.thought + (CLOSE if self.answer == "8" else 0) + len("#### 8") + 1
        return self.thought


async def judge(a: str, b: str, kind: str) -> bool:
    return a.strip() == b.strip()


def run(word: str, world: World, cap: int = ROOM) -> Run:
    return LOOP.run(drive(policy(word)(Q, cap), world.engine(), judge=judge, cap=cap))


def seen(done: Run) -> Seen:
    notes = done.answer.notes
    thought = sum(s.completion.tokens for s in done.steps if s.request.stage == "think")
    if done.answer.stage == "think":
        thought -= len("#### 6") + 1
    return Seen(
        thought,
        notes["trials"],
        notes["trial_tokens"],
        "stopped" in notes,
        (done.answer.text or "").removeprefix("#### ").strip(),
    )


def same(word: str, world: World, wanted: Seen) -> None:
    done = run(word, world)
    assert seen(done) == wanted
    assert done.charged - done.answer.notes["trial_tokens"] == wanted.authors
    assert done.answer.notes.get("stopped", wanted.thought) == wanted.thought


# The references: each reads the whole thought and says where the method gets off.


def cost(world: World, tokens: int, most: int) -> int:
    """Our words and the model's, up to the newline that ends a trial, or its own end of turn."""
    said = world.trial(tokens)
    written = said.index("\n") + 1 if "\n" in said else len(said) + 1
    return FORCED + min(most, written)


def whole(world: World, trials: int, spent: int) -> Seen:
    return Seen(len(encode(world.thought)) + 2, trials, spent, False, "6")


def places(world: World, marks: tuple[str, ...]) -> list[tuple[int, int]]:
    """Tokens before each mark of the thought and with it, places with nothing before them left out."""
    text, found, at = world.thought, [], 0
    while hits := [(i + len(m), i) for m in marks if (i := text.find(m, at)) >= 0]:
        end, start = min(hits)
        if text[at:end].strip():
            found.append((start + 1, end + 1))
        at = end
    return found


def deer(world: World, over: float, tries: int, most: int = 12) -> Seen:
    spent = 0
    turns = places(world, ("Wait",))[:tries]
    for number, (before, after) in enumerate(turns, 1):
        spent += cost(world, before, most)
        # All tokens of a trial have one chance here, so that any mean of them is that chance.
        if round(world.chance(before), 4) > over:
            return Seen(after, number, spent, True, "8")
    return whole(world, len(turns), spent)


DOUBTS = ("wait", "hold", "but", "okay", "no", "hmm")


def read(said: str) -> str | None:
    word = said.split("\n")[0].strip()
    return word if word.isdigit() else None


def dynasor(world: World, every: int, last: int, most: int = 12) -> Seen:
    spent, answers = 0, list[str | None]()
    total = len(encode(world.thought)) + 2
    for tokens in range(every, total, every):
        spent += cost(world, tokens, most)
        said = world.trial(tokens)[:most]
        doubtful = any(word in said.lower() for word in DOUBTS)
        answers.append(None if doubtful else read(said))
        window = answers[-last:]
        if len(window) == last and None not in window and len(set(window)) == 1:
            return Seen(tokens, len(answers), spent, True, str(window[-1]))
    return whole(world, len(answers), spent)


def converged(world: World, marks: tuple[str, ...], last: int, most: int = 12) -> Seen:
    spent, row, newest = 0, 0, None
    turns = places(world, marks)
    for number, (before, after) in enumerate(turns, 1):
        spent += cost(world, before, most)
        found = read(world.trial(before)[:most])
        row = row + 1 if found is not None and found == newest else int(found is not None)
        newest = found
        if row == last:
            return Seen(after, number, spent, True, "8")
    return whole(world, len(turns), spent)


def eat(world: World, rate: float, below: float, warm: int) -> Seen:
    spent, mean, spread = 0, 0.0, 0.0
    turns = places(world, ("\n\n",))
    for n, (before, after) in enumerate(turns):
        spent += FORCED + 1
        p = world.chance(before)
        x = -(p * math.log(p) + (1 - p) * math.log(1 - p))
        mean = rate * x + (1 - rate) * mean if n else x
        spread = rate * (x - mean) ** 2 + (1 - rate) * spread if n else 0.0
        if n >= warm and spread < below:
            return Seen(after, n + 1, spent, True, "8")
    return whole(world, len(turns), spent)


worlds = st.builds(
    World,
    st.lists(st.sampled_from(["abc ", "Wait", "x. ", "why? ", "3.5", ".\n", "\n", "\n\n"]), max_size=30).map(
        "".join
    ),
    st.lists(st.sampled_from(["5\n", "7\n", "5\n7", "5", "no\n", "?\n", "1234567890123"]), min_size=1, max_size=5),
    st.lists(st.sampled_from([0.3, 0.7, 0.9, 0.94, 0.96, 0.99]), min_size=1, max_size=5),
)


@settings(max_examples=60, deadline=None)
@given(worlds, st.sampled_from([0.5, 0.95]), st.integers(1, 10), st.sampled_from(["geometric", "least"]))
def test_sure_decides_as_deer(world: World, over: float, tries: int, mean: str) -> None:
    same(f"sure(over={over},tries={tries},mean={mean})", world, deer(world, over, tries))


@settings(max_examples=60, deadline=None)
@given(worlds, st.integers(1, 40), st.integers(1, 4))
def test_agree_decides_as_dynasor(world: World, every: int, last: int) -> None:
    same(f"agree(every={every},last={last})", world, dynasor(world, every, last))


@settings(max_examples=60, deadline=None)
@given(worlds, st.integers(1, 4))
def test_settle_decides_as_answer_convergence(world: World, last: int) -> None:
    same(f"settle(at=line,last={last})", world, converged(world, ("\n",), last))
    marks = (". ", ".\n", "? ", "?\n", "! ", "!\n", "\n")
    same(f"settle(last={last})", world, converged(world, marks, last))


@settings(max_examples=60, deadline=None)
@given(worlds, st.sampled_from([0.1, 0.2, 1.0]), st.sampled_from([1e-4, 1e-2, 1.0]), st.integers(0, 6))
def test_steady_decides_as_eat(world: World, rate: float, below: float, warm: int) -> None:
    same(f"steady(rate={rate},below={below},warm={warm})", world, eat(world, rate, below, warm))


# One worked example of each, with all numbers written out.


def test_deer_worked_out() -> None:
    """`<think>ab Wait` is 8 tokens. A trial is 9 of ours and `5` with its newline; 0.96 is above 0.95."""
    world = World("ab Wait cd Wait ef", ["5\n"], [0.5, 0.5, 0.5, 0.5, 0.6] + [0.96] * 20)
    done = run("sure", world)
    assert FORCED + 2 == 11
    assert done.answer.notes["sure"] == (0.6, 0.96)
    assert done.answer.notes["stopped"] == 16
    assert done.answer.notes["trial_tokens"] == 2 * (FORCED + 2)
    assert done.answer.text == "#### 8"
    assert done.charged - done.answer.notes["trial_tokens"] == 16 + CLOSE + 7


def test_the_means_of_a_trial() -> None:
    """Chances 0.5 and 1: arithmetic 0.75, geometric 0.7071, least 0.5."""
    from thinkcap.core.scores import Scores
    from thinkcap.policies.sure import confidence

    scores = Scores.of([(math.log(0.5), [math.log(0.5)]), (0.0, [0.0])])
    found = [round(confidence(scores, mean), 4) for mean in ("arithmetic", "geometric", "least")]
    assert found == [0.75, 0.7071, 0.5]
    assert confidence(None, "geometric") == 0.0


def test_dynasor_worked_out() -> None:
    """Trials at 10, 20, 30, 40 say 5, 7, 7, 7: three agree at 40, and the trial is the answer."""
    says = ["?"] * 41
    says[10], says[20], says[30], says[40] = "5\n", "7\n", "7\n", "7\n"
    done = run("agree(every=10)", World("x" * 100, says))
    assert done.answer.notes["answers"] == ("5", "7", "7", "7")
    assert (done.answer.text, done.answer.stage) == ("#### 7\n", "trial")
    # The authors count the pieces alone; four trials of ours and two tokens each are what they leave out.
    assert done.charged == 40 + 4 * (FORCED + 2)
    assert done.answer.notes["trial_tokens"] == 4 * (FORCED + 2)
    closed = run("agree(every=10,finish=close)", World("x" * 100, says))
    assert closed.answer.text == "#### 8"


def test_doubt_does_not_count_and_can_be_left_out() -> None:
    world = World("x" * 35, ["5 but\n"])
    assert run("agree(every=10,last=2)", world).answer.notes["answers"] == (None, None, None)
    assert "stopped" in run("agree(every=10,last=2,doubt=false)", world).answer.notes


def test_answer_convergence_worked_out() -> None:
    """Three sentences, the same answer at each; 3 and 5 in 3.5 are one sentence."""
    done = run("settle(last=3)", World("a 3.5. b. c. d. e"))
    assert done.answer.notes["answers"] == ("5", "5", "5")
    assert done.answer.notes["stopped"] == len("a 3.5. b. c. ") + 1
    assert done.charged - done.answer.notes["trial_tokens"] == len("a 3.5. b. c. ") + 1 + CLOSE + 7


def test_eat_worked_out() -> None:
    """The same entropy at every paragraph: the variance is 0 from the second on, the warm-up decides."""
    done = run("steady(warm=2)", World("a\n\nb\n\nc\n\nd\n\ne"))
    assert done.answer.notes["trials"] == 3
    assert done.answer.notes["stopped"] == len("a\n\nb\n\nc\n\n") + 1
    assert done.answer.notes["trial_tokens"] == 3 * (FORCED + 1)
    assert done.charged - done.answer.notes["trial_tokens"] == len("a\n\nb\n\nc\n\n") + 1 + CLOSE + 7


def test_an_empty_paragraph_is_none() -> None:
    assert run("steady", World("a\n\n\n\n\n\nb\n\nc")).answer.notes["trials"] == 2


@pytest.mark.parametrize("word", ["sure(over=0.5)", "agree(every=9,last=2)", "settle(last=2)", "steady(warm=1)"])
def test_a_stream_shows_the_thought_and_the_answer_but_no_trial(word: str) -> None:
    world = World("a. Wait\n\nb. Wait\n\nc. Wait\n\nd", ["5\n"])

    async def shown() -> tuple[list[Piece], Run]:
        flow = stream(policy(word)(Q, ROOM), world.engine(), judge=judge, cap=ROOM)
        found = [item async for item in flow]
        return [p for p in found if isinstance(p, Piece)], next(r for r in found if isinstance(r, Run))

    pieces, done = LOOP.run(shown())
    assert done.answer.notes["stopped"]
    thought = "".join(p.text for p in pieces if p.channel == "thought")
    assert world.thought.startswith(thought)
    assert thought == world.thought[: done.answer.notes["stopped"] - 1].rstrip("\n")
    assert "".join(p.text for p in pieces if p.channel == "answer").strip() == (done.answer.text or "").strip()


@pytest.mark.parametrize("cap", range(20, 200, 7))
@pytest.mark.parametrize("word", ["sure", "agree(every=10)", "settle(at=line)", "steady(at=line)"])
def test_trials_stop_in_time_to_answer(word: str, cap: int) -> None:
    """As many trials as the cap pays for, never one that costs the answer its room."""
    world = World("ab Wait\n" * 60, ["?\n"])
    done = run(word, world, cap)
    assert done.charged <= cap
    assert done.answer.stage == "close"
    kept = min(max(32, cap // 8), cap // 2)
    assert done.steps[-1].completion.tokens == min(7, kept - CLOSE) or cap < 40
    assert done.answer.notes["trials"] or cap < 100


TRYING = ("sure(at=line,finish={})", "agree(every=9,last=9,finish={})", "settle(at=line,last=9,finish={})")


@pytest.mark.parametrize("word", TRYING)
def test_where_the_cap_comes_first_the_last_trial_that_could_be_read_is_the_answer(word: str) -> None:
    """Trials at 9, 18, 27 and so on say 5 or nothing that could be read; none is sure, and no two agree."""
    world = World("ab Wait\n" * 60, ["5\n", "?\n"], [0.3])
    done = run(word.format("last"), world, 150)
    assert (done.answer.text, done.answer.stage) == ("#### 5\n", "trial")
    assert "close" not in {step.request.stage for step in done.steps}
    assert done.charged <= 150
    closed = run(word.format("close"), world, 150)
    assert (closed.answer.text, closed.answer.stage) == ("#### 8", "close")
    assert closed.answer.notes["trials"] == done.answer.notes["trials"] >= 2


@pytest.mark.parametrize("word", TRYING)
def test_where_no_trial_could_be_made_one_at_the_cut_is_the_answer(word: str) -> None:
    done = run(word.format("last"), World("ab Wait\n" * 60, ["5\n"], [0.3]), 40)
    assert done.answer.notes["trials"] == 0
    assert (done.answer.text, done.answer.stage) == ("#### 5\n", "close")
    assert done.charged == 40 - 20 + FORCED + 2


def test_a_method_that_is_sure_may_give_the_trial_itself() -> None:
    world = World("ab Wait cd Wait ef", ["5\n"], [0.99])
    assert run("sure(finish=trial)", world).answer.text == "#### 5\n"
    assert run("sure", world).answer.text == "#### 8"


@pytest.mark.parametrize(
    "word",
    [
        "sure(mean=median)",
        "sure(finish=never)",
        "agree(finish=never)",
        "agree(every=0)",
        "agree(last=0)",
        "settle(last=0)",
        "sure(trial=0)",
        "steady(rate=0)",
    ],
)
def test_what_makes_no_sense_is_refused(word: str) -> None:
    with pytest.raises(ConfigError):
        run(word, World("x"))
