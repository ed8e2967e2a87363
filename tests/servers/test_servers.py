"""The engine contract, a study, the gateway and the doctor against each real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import test_engine_contract as contract
from started import CONTEXT, Server

from thinkcap.api import run_study as run
from thinkcap.core.complete import complete
from thinkcap.core.engine import Engine
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.types import Question, Request
from thinkcap.doctor.examine import DoctorReport, examine
from thinkcap.engines import open_engine
from thinkcap.model import pebble_hf
from thinkcap.study.config import StudyConfig

IDS = ("vllm", "llama")
"""Servers that take and give token ids; the third is asked over chat."""
EVERYWHERE = (
    contract.test_greedy_is_deterministic,
    contract.test_a_smaller_limit_is_a_prefix_and_ends_only_where_the_whole_ends,
    contract.test_streamed_pieces_join_to_the_text,
    contract.test_sixteen_flows_at_once_get_what_they_would_get_alone,
    contract.test_cancelling_frees_the_slots,
)
UNLIKE = {
    contract.test_a_smaller_limit_is_a_prefix_and_ends_only_where_the_whole_ends: (
        "`transformers serve` says `length` where the end of the turn is exactly the last token allowed: see below"
    ),
    contract.test_cancelling_frees_the_slots: "`transformers serve` writes on for clients that are gone",
}
BY_IDS = (
    contract.test_the_end_of_turn_token_is_the_last_id_and_no_text,
    contract.test_think_tags_are_text_and_one_token,
    contract.test_a_trace_is_spliced_in_by_its_ids,
    contract.test_a_mark_in_a_question_without_traces_is_an_ordinary_character,
    contract.test_forced_text_counts_against_the_budget_and_a_span_does_not,
    contract.test_a_seed_reproduces_and_another_does_not,
    contract.test_a_prompt_beyond_the_context_is_refused_with_its_numbers,
    contract.test_options_apply_to_answer_passes_and_unknown_ones_are_refused,
    contract.test_a_schema_binds_the_answer_and_is_part_of_the_key,
    contract.test_a_stop_is_the_last_token_and_every_token_has_its_score,
    contract.test_writing_stops_where_the_model_becomes_unsure,
)
Check = Callable[[Engine], Awaitable[None]]


@pytest.fixture(autouse=True)
def in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled model ends its turn on questions it was made for, and is sure of them."""
    monkeypatch.setattr(contract, "WORDS", PROMPTS.asked("What is {n}2 + 37?", "number"))
    monkeypatch.setattr(contract, "HOT", 2.0)


@pytest.fixture
async def engine(server: Server) -> AsyncIterator[Engine]:
    found = await open_engine(server.url)
    yield found
    await found.aclose()


@pytest.mark.parametrize("check", EVERYWHERE, ids=lambda check: check.__name__)
async def test_the_contract(check: Check, engine: Engine, server: Server) -> None:
    if server.kind == "transformers" and check in UNLIKE:
        pytest.skip(UNLIKE[check])
    await check(engine)


async def test_a_cut_is_a_prefix_also_where_an_exact_end_is_called_a_cut(engine: Engine, server: Server) -> None:
    """`transformers serve` tells `length` by the count alone. The error is on the safe side: never ended early."""
    whole = await complete(engine, Request(asked(3), "nothink", 100, stage="t"))
    assert whole.ended
    exact = await complete(engine, Request(asked(3), "nothink", whole.tokens, stage="t"))
    assert exact.ended == (server.kind != "transformers")
    for limit in (1, whole.tokens // 2, whole.tokens - 1):
        cut = await complete(engine, Request(asked(3), "nothink", limit, stage="t"))
        assert cut.tokens == limit
        assert not cut.ended
        assert whole.text.startswith(cut.text.rstrip("\ufffd"))


@pytest.mark.parametrize("check", BY_IDS, ids=lambda check: check.__name__)
async def test_the_contract_by_ids(check: Check, engine: Engine, server: Server) -> None:
    if server.kind not in IDS:
        pytest.skip("gives no token ids")
    await check(engine)


async def test_the_card_says_what_it_is(engine: Engine, server: Server) -> None:
    card = engine.card
    assert card.transport == ("ids" if server.kind in IDS else "chat")
    assert card.switch == "native"
    assert card.context == (CONTEXT if server.kind in IDS else 0)


def asked(n: int) -> Question:
    words = PROMPTS.asked(f"What is {n} + {2 * n + 5}?", "number")
    return Question(f"q{n}", ({"role": "user", "content": words},), kind="number")


async def test_answers_are_those_of_the_embedded_engine(engine: Engine) -> None:
    """Weights in 16 and 32 bits: nearly all, not all, must agree."""
    embedded = await open_engine("bundled", concurrency=4)
    alike = 0
    for n in range(1, 13):
        for mode in ("think", "nothink"):
            request = Request(asked(n), mode, 300, stage="t")  # type: ignore[arg-type]
            ours, theirs = await complete(embedded, request), await complete(engine, request)
            alike += (ours.answer, ours.ended) == (theirs.answer, theirs.ended)
    await embedded.aclose()
    assert alike >= 22, f"{alike} of 24 alike"


async def test_a_small_study(server: Server, tmp_path: Path) -> None:
    policies = "nothink,think,iris" + (",close" if server.kind in IDS else "")
    config = StudyConfig.from_mapping(
        {"model": server.url, "policies": policies, "budgets": "64,256", "limit": 8, "out": str(tmp_path)}
    )
    result = await run(config)
    assert result.failed == 0
    assert sum(row.verdict == "right" for row in result.rows) > len(result.rows) / 4
    best = max(cell["accuracy"] for cell in result.summary["cells"])  # type: ignore[attr-defined]
    assert best >= 0.5
    again = await run(config)
    assert again.rows == result.rows


@pytest.fixture
def gateway(server: Server) -> Iterator[str]:
    words = [sys.executable, "-m", "thinkcap", "serve", server.url, "--port", "0"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stderr
    said: list[str] = []
    for line in process.stderr:
        said.append(line)
        if "serves at" in line:
            break
    else:
        pytest.fail("".join(said))
    yield said[-1].split()[-1]
    process.terminate()
    process.wait(20)


def chat(address: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(
        f"{address.rstrip('/').removesuffix('/v1')}/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=300) as reply:
        return json.load(reply)


def test_the_gateway(gateway: str, server: Server) -> None:
    with urllib.request.urlopen(f"{gateway.rstrip('/').removesuffix('/v1')}/v1/models", timeout=60) as reply:
        names = [model["id"] for model in json.load(reply)["data"]]
    for cap in (48, 256):
        body = {"model": names[0], "messages": list(asked(3).messages), "max_tokens": cap, "temperature": 0}
        answer = chat(gateway, body)
        assert answer["choices"][0]["message"]["content"].strip()
        assert answer["usage"]["completion_tokens"] <= cap
    # The name of the reasoning is the server's own unless told.
    thinking = chat(gateway, {**body, "model": f"{names[0]}+think", "max_tokens": 512})
    field = "reasoning" if server.kind == "vllm" else "reasoning_content"
    assert thinking["choices"][0]["message"][field].strip()


async def test_the_doctor(server: Server, request: pytest.FixtureRequest) -> None:
    report: DoctorReport = await examine(server.url, tokens=256)
    found = {f.name: f.verdict for f in report.findings}
    if folder := os.environ.get("THINKCAP_CARDS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        text = json.dumps(report.to_dict(), indent=1).replace(report.address, "http://localhost/v1")
        text = text.replace(str(pebble_hf()), "pebble")
        (Path(folder) / f"{server.kind}.json").write_text(text + "\n")
    assert found["thinking off means off"] == "yes", report.table()
    assert found["max_tokens holds"] == "yes", report.table()
    assert found["prefix property"] == "yes", report.table()
    assert (found["token ids"] == "yes") == (server.kind in IDS), report.table()
