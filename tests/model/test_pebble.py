"""The bundled model as released: unchanged files, the right shape, the same ids everywhere, real thinking."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from thinkcap.core.prompts import PROMPTS
from thinkcap.model import pebble_gguf, pebble_hf
from thinkcap.tasks.families import questions

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from training.engine import Llama  # noqa: E402
from training.strings import digest, mixed  # noqa: E402
from training.verify import verify  # noqa: E402


@pytest.fixture(scope="module")
def llama():  # type: ignore[no-untyped-def]
    with Llama(pebble_gguf(), slots=4, replicas=1) as engine:
        yield engine


def test_every_file_is_as_released() -> None:
    assert verify(ROOT / "src/thinkcap/model") == []


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    home = ROOT / "src/thinkcap/model"
    (tmp_path / "pebble").mkdir()
    for name in json.loads((home / "hashes.json").read_text()):
        (tmp_path / name).write_bytes((home / name).read_bytes())
    (tmp_path / "hashes.json").write_bytes((home / "hashes.json").read_bytes())
    assert verify(tmp_path) == []
    with (tmp_path / "pebble/config.json").open("a") as file:
        file.write(" ")
    assert any("config.json" in line for line in verify(tmp_path))


def test_the_shape_is_qwen3_and_small() -> None:
    config = json.loads((pebble_hf() / "config.json").read_text())
    assert config["architectures"] == ["Qwen3ForCausalLM"]
    assert config["max_position_embeddings"] >= 4096
    width, inner, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    heads, kv, head = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    per_layer = width * head * (2 * heads + 2 * kv) + 3 * width * inner + 2 * width + 2 * head
    assert config["vocab_size"] * width + layers * per_layer + width <= 7_000_000


def test_a_thousand_strings_have_the_ids_transformers_gave_them(llama: Llama) -> None:
    record = json.loads((ROOT / "training/record/ids.json").read_text())
    texts = mixed()
    assert len(texts) == record["strings"] == 1000
    assert hashlib.sha256(json.dumps(texts).encode()).hexdigest() == record["texts_sha256"]
    assert digest([llama.tokenize(text) for text in texts]) == record["ids_sha256"]


def test_transformers_still_gives_those_ids() -> None:
    pytest.importorskip("transformers")
    from training.strings import by_transformers

    record = json.loads((ROOT / "training/record/ids.json").read_text())
    assert digest(by_transformers(mixed())) == record["ids_sha256"]


@pytest.mark.parametrize("think", [True, False])
def test_the_template_has_the_switch_of_qwen3(llama: Llama, think: bool) -> None:
    messages = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "<think>\nold thought\n</think>\n\nold answer"},
        {"role": "user", "content": "b"},
    ]
    body = {"messages": messages, "chat_template_kwargs": {"enable_thinking": think}}
    text = llama.post("/apply-template", body)["prompt"]
    assert text == (
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\na<|im_end|>\n"
        "<|im_start|>assistant\nold answer<|im_end|>\n"
        "<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n" + ("" if think else PROMPTS.no_think)
    )


def test_it_thinks_when_asked_to_and_is_right(llama: Llama) -> None:
    problems = questions("mix", 20, seed=77, difficulty=1)
    right = {}
    for think in (True, False):
        hits = 0
        for problem in problems:
            messages = [{"role": "user", "content": PROMPTS.asked(problem.question, problem.form)}]
            body = {"messages": messages, "chat_template_kwargs": {"enable_thinking": think}}
            prompt = llama.post("/apply-template", body)["prompt"]
            reply = llama.post("/completion", {"prompt": prompt, "n_predict": 1200, "temperature": 0})["content"]
            assert reply.startswith("<think>\n") == think
            assert not think or "\n</think>\n\n" in reply
            last = reply.rsplit("</think>", 1)[-1].strip().splitlines()[-1]
            hits += problem.answer in last
        right[think] = hits
    assert right[True] >= 19
    assert right[True] >= right[False]


def test_the_product_finds_it_under_its_name() -> None:
    from thinkcap.engines.gguf import read_gguf

    facts = read_gguf(pebble_gguf())
    assert facts is not None
