"""Stops, scores and races: what flows may ask for beside a budget. Live and from the store the same."""

import asyncio
import math
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkcap.core.complete import complete
from thinkcap.core.engine import Emit, EngineCard, Output, Prompt
from thinkcap.core.errors import StoreError, Unsupported
from thinkcap.core.flow import Flow, drive, first_of
from thinkcap.core.scores import Scores, Unsure
from thinkcap.core.thinking import Delta
from thinkcap.core.types import Answer, Completion, Question, Request, Sampling, Span
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.traces.remember import Remembering
from thinkcap.traces.store import TraceStore
from thinkcap.traces.trace import Trace

Q = Question("q", ({"role": "user", "content": "2+3?"},), kind="number")
TEXT = "<think>two. Wait, three. Wait, five</think>5"
LOOP = asyncio.Runner()


def engine(text: str = TEXT, **more: object) -> ScriptedEngine:
    return ScriptedEngine(lambda prompt: text, **more)  # type: ignore[arg-type]


def thinking(budget: int, *stop_at: str, prefill: tuple[Span | str, ...] = (), **more: object) -> Request:
    return Request(Q, "think", budget, "think", stop_at=stop_at, prefill=prefill, **more)  # type: ignore[arg-type]


async def test_a_stop_is_the_last_thing_written_and_no_end() -> None:
    model = engine()
    piece = await complete(model, thinking(100, "Wait", "zebra"))
    assert piece.text == "<think>two. Wait"
    assert (piece.ended, piece.finish) == (False, "stopped")
    assert piece.before is not None
    assert piece.before.text == "<think>two. "
    assert piece.tokens == model.generated == 10


async def test_a_stop_beyond_the_budget_is_not_met() -> None:
    piece = await complete(engine(), thinking(9, "Wait"))
    assert (piece.tokens, piece.finish, piece.before) == (9, "length", None)


async def test_the_turn_goes_on_behind_the_stop(tmp_path: Path) -> None:
    model = engine()
    with TraceStore.open(tmp_path / "t.sqlite", model.card.fingerprint) as store:
        remembering = Remembering(model, store)
        first = await complete(remembering, thinking(100, "Wait"))
        second = await complete(remembering, thinking(100, "Wait", prefill=(first.span(),)))
        third = await complete(remembering, thinking(100, prefill=(first.span(), second.span())))
        assert first.text + second.text + third.text == TEXT
        assert third.ended
        assert model.generated == first.tokens + second.tokens + third.tokens
        # All of it is there now: other stops and budgets cost nothing.
        before = model.generated
        again = await complete(remembering, thinking(100, "three"))
        whole = await complete(remembering, thinking(100))
        assert again.text == "<think>two. Wait, three"
        assert whole.text == TEXT
        assert model.generated == before


@settings(max_examples=60, deadline=None)
@given(
    st.text("ab. W", max_size=30),
    st.lists(st.text("ab. W", min_size=1, max_size=3), min_size=1, max_size=3),
    st.integers(1, 40),
    st.lists(st.integers(1, 40), max_size=3),
)
def test_live_and_stored_stop_at_the_same_token(
    thought: str, stops: list[str], budget: int, others: list[int]
) -> None:
    async def both() -> tuple[Completion, Completion]:
        live = await complete(engine(thought), thinking(budget, *stops))
        model = engine(thought)
        with (
            tempfile.TemporaryDirectory() as folder,
            TraceStore.open(Path(folder) / "t.sqlite", model.card.fingerprint) as store,
        ):
            remembering = Remembering(model, store)
            for other in others:
                await complete(remembering, thinking(other, *stops[:1]))
            return live, await complete(remembering, thinking(budget, *stops))

    live, stored = LOOP.run(both())
    assert (live.text, live.ids, live.ended, live.finish) == (stored.text, stored.ids, stored.ended, stored.finish)
    assert live.before == stored.before
    found = [at + len(word) for word in stops if (at := thought[:budget].find(word)) >= 0]
    expected = thought[: min(found)] if found else thought[:budget]
    assert live.text == expected


async def test_forced_words_are_paid_once() -> None:
    model = engine("<think>abc</think>")
    first = await complete(model, thinking(100, "</think>"))
    assert first.before is not None
    second = await complete(model, thinking(20, prefill=(first.before, " Wait")))
    assert second.forced == len(" Wait")
    third = await complete(model, thinking(20, prefill=(first.before, " Wait", second.span()), paid=second.forced))
    assert third.forced == 0


async def test_at_most_so_many_are_generated_whatever_the_budget_leaves() -> None:
    piece = await complete(engine("x" * 50), thinking(20, prefill=("Now: ",), most=3))
    assert (piece.tokens, piece.forced) == (3, 5)


def odds(before: str, token: str) -> tuple[float, Sequence[float]]:
    chance = 0.5 if token == "u" else 0.99
    return math.log(chance), (math.log(chance), math.log(1 - chance))


async def test_scores_lie_beside_the_tokens_and_are_cut_with_them(tmp_path: Path) -> None:
    model = engine("aub", odds=odds)
    with TraceStore.open(tmp_path / "t.sqlite", model.card.fingerprint) as store:
        await complete(Remembering(model, store), thinking(3, scored=True))
    with TraceStore.open(tmp_path / "t.sqlite", model.card.fingerprint) as store:
        cut = await complete(Remembering(model, store), thinking(2, scored=True))
    assert model.generated == 3
    assert cut.scores is not None
    assert [round(math.exp(x), 3) for x in cut.scores.chosen] == [0.99, 0.5]
    assert cut.scores.entropy[1] == pytest.approx(math.log(2), rel=1e-6)


async def test_a_trace_written_without_scores_is_scored_afterwards(tmp_path: Path) -> None:
    model = engine("aub", odds=odds)
    with TraceStore.open(tmp_path / "t.sqlite", model.card.fingerprint) as store:
        remembering = Remembering(model, store)
        await complete(remembering, thinking(4))
        scored = await complete(remembering, thinking(4, scored=True))
        assert model.generated == 4
        live = await complete(engine("aub", odds=odds), thinking(4, scored=True))
        assert scored.scores is not None
        assert live.scores is not None
        assert scored.scores.chosen == pytest.approx(live.scores.chosen)


async def test_an_engine_that_scores_only_what_it_writes_writes_again(tmp_path: Path) -> None:
    model = engine("aub", odds=odds)
    model.card = EngineCard(**{**vars(model.card), "scores": "written"})
    with TraceStore.open(tmp_path / "t.sqlite", model.card.fingerprint) as store:
        remembering = Remembering(model, store)
        await complete(remembering, thinking(4))
        scored = await complete(remembering, thinking(2, scored=True))
        assert (scored.tokens, model.generated) == (2, 8)
        assert (await complete(remembering, thinking(4, scored=True))).tokens == 4
        assert model.generated == 8


@pytest.mark.parametrize("can", ["any", "written"])
@pytest.mark.parametrize("lost", [0, 1, 3])
async def test_a_trace_with_scores_missing_is_scored_again(tmp_path: Path, can: str, lost: int) -> None:
    """As llama.cpp's server once gave them: none for a text it stopped at, also in the middle of what follows."""
    model = engine("auba", odds=odds)
    model.card = EngineCard(**{**vars(model.card), "scores": can})
    whole = await complete(model, thinking(9, scored=True))
    assert whole.scores is not None
    short = whole.scores.cut(lost) + whole.scores.cut(99, lost + 1)
    with TraceStore.open(tmp_path / "t.sqlite", model.card.fingerprint) as store:
        await complete(Remembering(model, store), thinking(9, scored=True))
        ((key, trace),) = store.items()
        await store.put(key, replace(trace, scores=short))
    before = model.generated
    with TraceStore.open(tmp_path / "t.sqlite", model.card.fingerprint) as store:
        remembering = Remembering(model, store)
        assert (await complete(remembering, thinking(2))).ids == whole.ids[:2]  # type: ignore[index]
        assert model.generated == before
        again = await complete(remembering, thinking(9, scored=True))
        assert again.scores is not None
        assert again.scores.chosen == pytest.approx(whole.scores.chosen)
        assert model.generated == before + (0 if can == "any" else whole.tokens)
    with TraceStore.open(tmp_path / "t.sqlite", model.card.fingerprint, readonly=True) as store:
        ((_, kept),) = store.items()
        assert kept.scores is not None
        assert len(kept.scores) == len(kept.ids)


async def test_more_scores_than_tokens_is_damage(tmp_path: Path) -> None:
    many = Scores((-1.0,) * 3, (-1.0,) * 3, (1.0,) * 3)
    with TraceStore.open(tmp_path / "t.sqlite", "f") as store:
        await store.put("aa", Trace((1, 2), True, 4, scores=many))
    with TraceStore.open(tmp_path / "t.sqlite", "f") as store, pytest.raises(StoreError, match="3 scores for 2"):
        store.get("aa")


async def test_writing_stops_where_the_model_becomes_unsure() -> None:
    model = engine("aaauuuaaa", odds=odds)
    sure = -(math.log(0.99) + math.log(0.01)) / 2
    unsure = -(math.log(0.5) + math.log(0.5)) / 2
    bar = (sure + 2 * unsure) / 3 + 1e-6
    piece = await complete(model, thinking(100, unsure=Unsure(window=3, below=bar)))
    assert (piece.text, piece.finish, model.generated) == ("aaauu", "unsure", 5)


async def test_what_an_engine_cannot_show_is_refused_by_name() -> None:
    model = engine()
    model.card = EngineCard(**{**vars(model.card), "stops": False, "scores": ""})
    with pytest.raises(Unsupported, match="stops at a text"):
        await complete(model, thinking(9, "x"))
    with pytest.raises(Unsupported, match="log probabilities"):
        await complete(model, thinking(9, scored=True))


LENGTHS = (3, 9, 5, 30)


def runner() -> ScriptedEngine:
    """Four samples, their thoughts of different length."""

    def reply(prompt: str) -> str:
        seed = int(prompt.rpartition("[seed ")[2].rstrip("]"))
        return "<think>" + "x" * LENGTHS[seed] + f"</think>{seed}"

    return ScriptedEngine(reply, sampled=True)


def race(wanted: int) -> Flow:
    drawn = Sampling(1.0)
    requests = [Request(Q, "think", 50, "sample", sampling=drawn, sample=i) for i in range(4)]
    found = yield from first_of(requests, wanted)
    return Answer(None, "race", notes={"answers": tuple(c.answer for c in found)})


async def test_the_shortest_thoughts_win_and_the_rest_pays_what_it_wrote(tmp_path: Path) -> None:
    model = runner()
    with TraceStore.open(tmp_path / "t.sqlite", model.card.fingerprint) as store:
        stored = await drive(race(2), Remembering(model, store), cap=400)
        again = await drive(race(2), Remembering(model, store), cap=400)
    assert stored.answer.notes["answers"] == ("0", None, "2", None)
    # Winners: tags, thought, answer, end; the others as long as the longer of the two thoughts.
    assert [s.completion.tokens for s in stored.steps] == [3 + 4, 7, 5 + 4, 7]
    assert stored.charged == again.charged


async def test_a_live_race_cancels_those_who_lag_behind() -> None:
    model = runner()
    live = await drive(race(1), model, cap=400)
    assert live.answer.notes["answers"] == ("0", None, None, None)
    assert model.generated == live.generated == live.charged
    assert model.generated < sum(n + 4 for n in LENGTHS) - 10


class Bursts(ScriptedEngine):
    """Gives several tokens at a time, as servers do; the thoughts' lengths are those of `runner`."""

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        output = await super().generate(prompt, limit, sampling)
        self.generated -= output.tokens
        ids = output.ids or ()
        for start in range(0, len(ids), 4):
            some = ids[start : start + 4]
            self.generated += len(some)
            for part in (some[:3], some[3:]):
                assert emit
                emit(Delta(await self.read(part), tokens=len(part)))
            await asyncio.sleep(0)
        return output


@pytest.mark.parametrize("wanted", [1, 2, 3])
async def test_a_race_between_bursts_pays_every_token_and_never_breaks(wanted: int) -> None:
    """A lane that is stopped may write its answer's first words before it hears of it."""
    model = Bursts(runner()._script, sampled=True)
    live = await drive(race(wanted), model, cap=400)
    expected = ("0", "1" if wanted > 2 else None, "2" if wanted > 1 else None, None)
    assert live.answer.notes["answers"] == expected
    assert live.charged == live.generated == model.generated


async def test_who_is_cancelled_from_outside_stops_all_lanes() -> None:
    task = asyncio.ensure_future(drive(race(1), runner(), cap=400))
    for _ in range(12):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_fewer_ends_than_wanted_stops_nobody() -> None:
    run = await drive(race(5), runner(), cap=400)
    assert run.answer.notes["answers"] == ("0", "1", "2", "3")


def test_entropy_counts_what_the_twenty_leave_as_one() -> None:
    scores = Scores.of([(math.log(0.5), [math.log(0.5), math.log(0.25)])])
    assert scores.entropy[0] == pytest.approx(0.5 * math.log(2) + 2 * 0.25 * math.log(4))
    assert len(scores + scores) == 2
