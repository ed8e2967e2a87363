"""transformers in this process: a batch that others join gives the tokens of a plain `generate`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from patience import PATIENCE_S

torch = pytest.importorskip("torch", reason="needs torch: pip install 'thinkcap[hf]'", exc_type=ImportError)
pytest.importorskip("transformers", reason="needs transformers: pip install 'thinkcap[hf]'", exc_type=ImportError)

from watched import asked as sum_of  # noqa: E402
from watched import checked_race, score_gap  # noqa: E402

from thinkcap.core.complete import complete  # noqa: E402
from thinkcap.core.errors import ConfigError, EngineRefused, Unsupported  # noqa: E402
from thinkcap.core.prompts import PROMPTS  # noqa: E402
from thinkcap.core.types import GREEDY, Completion, Question, Request, Sampling  # noqa: E402
from thinkcap.engines import open_engine  # noqa: E402
from thinkcap.engines.hf_batch import Batch, BatchJob  # noqa: E402
from thinkcap.engines.hf_lanes import Lanes  # noqa: E402
from thinkcap.engines.hf_words import HfWords  # noqa: E402
from thinkcap.model import pebble_hf  # noqa: E402

LIMIT = 100


def asked(n: int, mode: str = "think", budget: int = LIMIT, **more: Any) -> Request:
    words = PROMPTS.asked(f"What is {n} + {3 * n + 7}" + " + 1" * (n % 5) + "?", "number")
    return Request(Question(f"q{n}", ({"role": "user", "content": words},)), mode, budget, stage="t", **more)  # type: ignore[arg-type]


def plain(folder: Path, prompts: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Each prompt alone through transformers' own generation."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    written = []
    for prompt in prompts:
        ids = torch.tensor([prompt])
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=LIMIT, do_sample=False)
        written.append(tuple(out[0, len(prompt) :].tolist()))
    return written


def test_ids_are_read_back_as_transformers_reads_them() -> None:
    from transformers import AutoTokenizer, GenerationConfig

    tokenizer = AutoTokenizer.from_pretrained(pebble_hf())
    words = HfWords(tokenizer, GenerationConfig.from_pretrained(pebble_hf()))
    ids = tokenizer("<think>\n3 + 4 is  7, na\u00efve\n</think>\n\n#### 7", add_special_tokens=False)["input_ids"]
    for count in range(len(ids) + 1):
        wanted = tokenizer.decode(ids[:count], skip_special_tokens=False, clean_up_tokenization_spaces=False)
        assert words.text(ids[:count]) == wanted
    assert words.text([*ids, min(words.ends)]) == words.text(ids)


def test_every_token_is_read_as_its_tokenizer_reads_it() -> None:
    """Half characters, tokens of several languages and ids that no token has, alone and side by side."""
    from transformers import AutoTokenizer, GenerationConfig

    tokenizer = AutoTokenizer.from_pretrained(pebble_hf())
    words = HfWords(tokenizer, GenerationConfig.from_pretrained(pebble_hf()))
    unseen = words.ends | set(tokenizer.all_special_ids)
    every = [i for i in range(len(tokenizer) + 8) if i not in unseen]
    rng = Random(0)
    mixed = [[rng.choice(every) for _ in range(rng.randint(2, 40))] for _ in range(500)]
    for ids in [*([i] for i in every), *mixed]:
        assert words.text(ids) == tokenizer.backend_tokenizer.decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize("batching", ["batch", "lanes", "waves"])
async def test_a_batch_that_others_join_gives_the_tokens_of_generate(batching: str) -> None:
    engine = await open_engine(str(pebble_hf()), concurrency=5, batching=batching)
    assert engine.card.batching == batching
    assert engine.card.dtype == "float32"
    limits = [LIMIT, 24, 60, 1]
    requests = [asked(n, mode, limits[n]) for n in range(4) for mode in ("think", "nothink")]

    async def late(at: int, request: Request) -> Completion:
        await asyncio.sleep(0.05 * at)
        return await complete(engine, request)

    done = await asyncio.gather(*(late(at, request) for at, request in enumerate(requests)))
    prompts = [(await engine.prompt(request)).ids or () for request in requests]
    await engine.aclose()
    wanted = plain(pebble_hf(), prompts)
    assert [c.ids for c in done] == [ids[: r.budget] for ids, r in zip(wanted, requests, strict=True)]
    assert any(c.ended for c in done)
    assert any(not c.ended for c in done)


async def test_flows_that_ask_together_are_written_together(
    tiny_hf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined: list[int] = []
    join = Lanes.join

    def noted(self: Lanes, jobs: Sequence[BatchJob]) -> list[BatchJob]:
        joined.append(len(jobs))
        return join(self, jobs)

    monkeypatch.setattr(Lanes, "join", noted)
    # Long enough for a machine that does other things between two flows.
    monkeypatch.setattr("thinkcap.engines.hf._MOMENT_S", 0.5)
    engine = await open_engine(str(tiny_hf), concurrency=6, batching="lanes")

    async def twice(n: int) -> None:
        for _ in range(2):
            await complete(engine, asked(n, budget=2))

    await asyncio.gather(*map(twice, range(6)))
    await engine.aclose()
    assert joined == [6, 6]


async def test_it_agrees_with_llama_cpp_on_the_tiny_model(tiny: Path, tiny_hf: Path) -> None:
    pair = [await open_engine(str(model), concurrency=4) for model in (tiny, tiny_hf)]
    requests = [asked(n, "nothink", 12) for n in range(6)]
    prompts = [[(await engine.prompt(r)).ids for r in requests] for engine in pair]
    assert prompts[0] == prompts[1]
    texts = [[(await complete(engine, r)).text for r in requests] for engine in pair]
    for engine in pair:
        await engine.aclose()
    assert texts[0] == texts[1]


@pytest.mark.parametrize("batching", ["batch", "lanes"])
async def test_sampling_alone_and_in_company_is_the_same(tiny_hf: Path, batching: str) -> None:
    engine = await open_engine(str(tiny_hf), concurrency=4, batching=batching)
    drawn = [asked(n, budget=30, sampling=Sampling(1.0, 0.9, n)) for n in range(6)]
    alone = [(await complete(engine, request)).ids for request in drawn]
    together = await asyncio.gather(*(complete(engine, request) for request in drawn))
    assert [c.ids for c in together] == alone
    await engine.aclose()


@pytest.mark.parametrize("batching", ["batch", "lanes", "waves"])
async def test_a_cancelled_flow_leaves_its_place_to_others(tiny_hf: Path, batching: str) -> None:
    engine = await open_engine(str(tiny_hf), concurrency=1, batching=batching)
    endless = asyncio.create_task(complete(engine, asked(1, budget=1500, sampling=Sampling(3.0, 1.0, 5))))
    await asyncio.sleep(0.05)
    endless.cancel()
    async with asyncio.timeout(PATIENCE_S):
        assert (await complete(engine, asked(2, budget=3))).tokens > 0
    await engine.aclose()


async def test_what_it_cannot_do_is_said(tiny_hf: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'float32'"):
        await open_engine(str(tiny_hf), dtype="float23")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match="cannot load"):
        await open_engine(str(tmp_path))
    engine = await open_engine(str(tiny_hf))
    wanted = {"type": "json_schema", "json_schema": {"schema": {"enum": ["red"]}}}
    question = Question("q", asked(1).messages, format=wanted)
    with pytest.raises(Unsupported, match="response format"):
        await complete(engine, Request(question, "nothink", 20, stage="s", final=True))
    await engine.aclose()
    with pytest.raises(Exception, match="closed"):
        await complete(engine, asked(1))


async def test_a_failing_step_fails_those_in_flight_and_nobody_after(
    tiny_hf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = await open_engine(str(tiny_hf))
    honest = Batch.join

    def broken(self: Batch, jobs: list[BatchJob]) -> list[BatchJob]:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(Batch, "join", broken)
    with pytest.raises(EngineRefused, match="lower --concurrency"):
        await complete(engine, asked(1, budget=5, sampling=GREEDY))
    monkeypatch.setattr(Batch, "join", honest)
    assert (await complete(engine, asked(1, budget=5))).tokens > 0
    await engine.aclose()


async def test_lanes_close_up_and_slots_are_given_up_without_changing_a_token() -> None:
    """Short and long chains, more of them than lanes: lanes move, the cache is shifted both ways."""
    engine = await open_engine(str(pebble_hf()), concurrency=6, batching="lanes")
    limits = [400, 3, 40, 700, 1, 90, 33, 300, 64, 5, 129, 31]
    requests = [asked(n, "think", limit) for n, limit in enumerate(limits)]
    done = await asyncio.gather(*(complete(engine, request) for request in requests))
    alone = [await complete(engine, request) for request in requests[::-1]]
    await engine.aclose()
    assert [c.ids for c in done] == [c.ids for c in alone[::-1]]
    assert all(c.tokens <= r.budget for c, r in zip(done, requests, strict=True))


async def test_a_model_takes_the_way_its_layers_allow(tiny_hf: Path) -> None:
    engine = await open_engine(str(tiny_hf))
    assert engine.card.batching == "batch"
    await engine.aclose()
    with pytest.raises(ConfigError, match="did you mean 'lanes'"):
        await open_engine(str(tiny_hf), batching="lane")


@pytest.mark.parametrize("batching", ["batch", "lanes", "waves"])
async def test_scoring_a_stored_trace_equals_what_was_recorded_while_it_was_written(
    tmp_path: Path, batching: str
) -> None:
    """Float32: one pass over the whole text against a step a token in a batch."""
    engine = await open_engine(str(pebble_hf()), concurrency=5, batching=batching, dtype="float32")
    requests = [Request(sum_of(n), mode, 120, stage="t") for n in range(3) for mode in ("think", "nothink")]  # type: ignore[arg-type]
    gap = await score_gap(engine, tmp_path, requests)
    await engine.aclose()
    print(f"hf, {batching}: {gap}")
    assert gap.tokens > 200
    assert gap.worst < 0.01
    assert not gap.unlike


async def test_a_live_race_pays_for_what_was_written() -> None:
    engine = await open_engine(str(pebble_hf()), concurrency=6)
    raced = await checked_race(engine, 1)
    await engine.aclose()
    assert 0 < raced.charged <= raced.whole
