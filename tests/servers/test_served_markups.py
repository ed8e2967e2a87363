"""The bundled model under six other markups, behind each real server: everything as with the original."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
import test_engine_contract as contract
from markups import MARKUPS, Markup
from running import gateway_running
from started import KEY, SERVERS, Server, launch, stop

from thinkcap import logs
from thinkcap.api import run_study
from thinkcap.core.complete import complete
from thinkcap.core.flow import drive
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.types import Completion, Question, Request
from thinkcap.doctor.examine import examine
from thinkcap.engines import open_engine
from thinkcap.policies.registry import policy
from thinkcap.study.config import StudyConfig

IN_CI = {
    ("vllm", "channel"),
    ("vllm", "word"),
    ("llama", "brackets"),
    ("llama", "effort"),
    ("transformers", "opened"),
}
PAIRS = [
    pytest.param((kind, markup), id=f"{kind}-{name}", marks=() if (kind, name) in IN_CI else pytest.mark.campaign)
    for kind in SERVERS
    for name, markup in MARKUPS.items()
]
QUESTION = Question(
    "q", ({"role": "user", "content": PROMPTS.asked("What is 48 * 57 + 9?", "number")},), kind="number"
)
CONTRACT = (
    contract.test_greedy_is_deterministic,
    contract.test_a_smaller_limit_is_a_prefix_and_ends_only_where_the_whole_ends,
    contract.test_streamed_pieces_join_to_the_text,
    contract.test_a_trace_is_spliced_in_by_its_ids,
)
BUDGETS, QUESTIONS = "64,256", 8


@pytest.fixture(scope="module", params=PAIRS)
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Markup]]:
    kind, markup = request.param
    process, server = launch(kind, tmp_path_factory.mktemp(f"{kind}-{markup.name}"), markup)
    yield server, markup
    stop(process)


async def test_the_doctor_names_the_dialect(served: tuple[Server, Markup], campaign: Any) -> None:
    server, markup = served
    report = await examine(server.url, tokens=256)
    said = report.table().splitlines()[1]
    assert f"{markup.open_tag} ... {markup.close_tag}" in said, report.table()
    assert "template" in report.card["dialect_by"]
    if server.kind != "transformers":
        assert report.card["switch"] == ("none" if markup.levels else "native")
        assert tuple(report.card["levels"]) == markup.levels
    campaign.says(f"{server.kind}, {markup.name}: doctor:{said}")


async def test_thought_answer_and_close(
    served: tuple[Server, Markup], monkeypatch: pytest.MonkeyPatch, campaign: Any
) -> None:
    server, markup = served
    if server.kind == "transformers":
        pytest.skip("asked over chat; what it hides cannot be parted")
    monkeypatch.setattr(contract, "WORDS", PROMPTS.asked("What is {n}2 + 37?", "number"))
    engine, embedded = await open_engine(server.url), await open_engine("bundled", concurrency=2)
    for check in CONTRACT:
        await check(engine)
    for mode in ("think",) if markup.levels else ("think", "nothink"):
        ours = await complete(embedded, Request(QUESTION, mode, 400, stage="s"))
        theirs = await complete(engine, Request(QUESTION, mode, 400, stage="s"))
        assert (theirs.thought, theirs.answer, theirs.ended) == (ours.thought, ours.answer, ours.ended)
        assert theirs.think_tokens == ours.think_tokens - (2 if markup.opens and ours.think_tokens else 0)
    # What the prompt has opened the model does not write: two tokens.
    cap = 100 - (2 if markup.opens else 0)
    closed = await drive(policy("close", engine.card.spoken(PROMPTS))(QUESTION, cap), engine, cap=cap)
    ours_closed = await drive(policy("close")(QUESTION, 100), embedded, cap=100)
    assert closed.answer.text == ours_closed.answer.text
    await embedded.aclose()
    await engine.aclose()
    campaign.says(f"{server.kind}, {markup.name}: contract, thought, answer and forced close as the original's")


async def test_a_study_has_the_original_accuracies(
    served: tuple[Server, Markup], tmp_path: Path, campaign: Any
) -> None:
    server, markup = served
    if server.kind == "transformers":
        pytest.skip("asked over chat; what it hides cannot be parted")
    policies = "think,close" + ("" if markup.levels else ",nothink,split")
    # Thoughts that the prompt opens are two tokens shorter: where none is cut the cells are the same.
    budgets = "768" if markup.opens else BUDGETS
    found = []
    for model in ("bundled", server.url):
        given = {"model": model, "policies": policies, "budgets": budgets, "limit": QUESTIONS}
        config = StudyConfig.from_mapping({**given, "out": str(tmp_path / f"run{len(found)}")})
        result = await run_study(config)
        cells: Any = result.summary["cells"]
        assert result.failed == 0
        found.append({(c["policy"], c["budget"]): c["accuracy"] for c in cells})
    # 16 and 32 bits: one question of a cell may differ.
    assert all(abs(found[0][cell] - found[1][cell]) <= 1 / QUESTIONS + 1e-9 for cell in found[0]), found
    same = sum(found[0][cell] == found[1][cell] for cell in found[0])
    campaign.says(f"{server.kind}, {markup.name}: {same} of {len(found[0])} cells of a study as the original's")


def test_the_gateway_streams_thought_and_answer_apart(
    served: tuple[Server, Markup], monkeypatch: pytest.MonkeyPatch, campaign: Any
) -> None:
    server, markup = served
    if server.kind == "transformers":
        pytest.skip("asked over chat; what it hides cannot be parted")
    monkeypatch.setenv("THINKCAP_API_KEY", KEY)
    with gateway_running(server.url, reasoning_field="reasoning_content") as (address, _):
        client = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)
        name = client.models.list().data[0].id
        for policy_name, cap in (("think", 400), ("close", 100)):
            body: Any = {"model": f"{name}+{policy_name}", "messages": list(QUESTION.messages), "max_tokens": cap}
            thought = answer = ""
            for event in client.chat.completions.create(**body, temperature=0, stream=True):
                for choice in event.choices:
                    thought += getattr(choice.delta, "reasoning_content", None) or ""
                    answer += choice.delta.content or ""
            whole = client.chat.completions.create(**body, temperature=0).choices[0].message
            assert answer.strip() == (whole.content or "").strip() != ""
            assert thought.strip() == (whole.model_extra or {})["reasoning_content"].strip() != ""
            assert markup.open_tag not in thought + answer
            assert markup.close_tag not in thought + answer
    campaign.says(f"{server.kind}, {markup.name}: streamed thought and answer are those of the whole reply")


def test_a_harness_log_of_it_is_diagnosed(served: tuple[Server, Markup], tmp_path: Path, campaign: Any) -> None:
    """As lm-evaluation-harness writes it: whole texts, and the chat template in the results beside them."""
    server, markup = served
    if server.kind == "transformers":
        pytest.skip("asked over chat; what it hides cannot be parted")
    outputs = asyncio.run(_answered(server.url))
    stamp = "2026-11-16T00-00-00.000000"
    results = {"model_name": "pebble", "chat_template": markup.template}
    (tmp_path / f"results_{stamp}.json").write_text(json.dumps(results))
    path = tmp_path / f"samples_sums_{stamp}.jsonl"
    rights = [gold in (found.answer or "") for gold, found in outputs]
    with path.open("w") as file:
        for n, (gold, found) in enumerate(outputs):
            row: dict[str, Any] = {"doc_id": n, "resps": [[found.text]], "filtered_resps": [found.answer or ""]}
            row |= {"target": gold, "exact_match": float(rights[n]), "metrics": ["exact_match"]}
            file.write(json.dumps(row) + "\n")
    (arm,) = logs.read([path]).arms
    assert arm.policy == "think"
    assert [bool(v == 1) for v in arm.verdict.tolist()] == rights
    assert any(rights)
    campaign.says(f"{server.kind}, {markup.name}: a harness log is read as think, {sum(rights)} of 6 right")


async def _answered(url: str) -> list[tuple[str, Completion]]:
    """Golds, and what the model wrote."""
    engine = await open_engine(url)
    found = []
    for n in range(2, 8):
        words = PROMPTS.asked(f"What is {n}2 + 37?", "number")
        question = Question(f"{n}", ({"role": "user", "content": words},), kind="number")
        whole = await complete(engine, Request(question, "think", 300, stage="s"))
        found.append((str(n * 10 + 39), whole))
    await engine.aclose()
    return found
