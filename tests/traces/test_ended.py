"""What is told of a chain that ended is what asking for it again would give, to the last field."""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from thinkcap.core.complete import complete
from thinkcap.core.engine import Emit, Output, Prompt
from thinkcap.core.types import Completion, Question, Request, Sampling, Step
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.traces.ended import EndedChains
from thinkcap.traces.remember import Remembering
from thinkcap.traces.store import TraceStore

ASKED = [Question(name, ({"role": "user", "content": f"{name}: 2+3?"},), kind="number") for name in "pq"]
requests = st.builds(
    Request,
    st.sampled_from(ASKED),
    st.sampled_from(["think", "nothink"]),
    st.integers(0, 34),
    stage=st.sampled_from(["s", "t"]),
    sampling=st.sampled_from([None, Sampling(0.7, seed=3), Sampling(0.7, seed=4)]),
    thought_only=st.booleans(),
    prefill=st.sampled_from([(), ("so",)]),
    stop_at=st.sampled_from([(), ("b",)]),
    most=st.sampled_from([None, 9]),
)


def timeless(completion: Completion) -> Completion:
    return replace(completion, wall_s=0.0)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["ab", "<think>aab</think>5", "<think>" + "a" * 20]),
    st.lists(requests, min_size=1, max_size=12),
    st.booleans(),
)
def test_it_tells_what_asking_would_give(reply: str, asked: list[Request], online: bool) -> None:
    async def check(folder: Path) -> None:
        plain, told = ScriptedEngine(lambda prompt: reply), ScriptedEngine(lambda prompt: reply)
        with TraceStore.open(folder / "a.sqlite", "f") as one, TraceStore.open(folder / "b.sqlite", "f") as other:
            asking, ended = Remembering(plain, one, online=online), EndedChains()
            knowing = Remembering(told, other, online=online)
            for request in asked:
                got = await ended(knowing, request)
                ended.keep((Step(request, got),))
                assert timeless(got) == timeless(await complete(asking, request))
        assert told.calls == plain.calls

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(Path(folder)))


class Counting(Remembering):
    asked = 0

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        self.asked += 1
        return await super().generate(prompt, limit, sampling, emit)


async def test_a_chain_that_ended_is_asked_for_once(tmp_path: Path) -> None:
    bare = ScriptedEngine(lambda prompt: "<think>aab</think>5")
    with TraceStore.open(tmp_path / "t.sqlite", bare.card.fingerprint) as store:
        engine, ended = Counting(bare, store), EndedChains()
        for budget in (64, 48, 40, 5, 4):
            request = Request(ASKED[0], "think", budget, stage="s")
            got = await ended(engine, request)
            ended.keep((Step(request, got),))
            assert got.ended is (budget > 5)
    assert engine.asked == 3
