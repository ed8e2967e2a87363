"""Low-rank tuning: what is merged is what was trained, and only what should be learned is."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

torch = pytest.importorskip("torch", reason="needs torch: pip install 'thinkcap[hf]'", exc_type=ImportError)
pytest.importorskip("transformers", reason="needs transformers: pip install 'thinkcap[hf]'", exc_type=ImportError)

from training.hybrid import lora  # noqa: E402
from training.hybrid.tune import Tokens, batches  # noqa: E402
from training.hybrid.weights import LIKE, begin_marks  # noqa: E402

PEBBLE = ROOT / "src/thinkcap/model/pebble"


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj = torch.nn.Linear(8, 8)
        self.gate_proj = torch.nn.Linear(8, 16, bias=False)
        self.other = torch.nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.other(self.gate_proj(self.q_proj(x)))


def test_a_kept_adapter_merged_says_the_same_as_the_trained_model(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, x = Block(), torch.randn(3, 8)
    before = model(x)
    first = {name: value.clone() for name, value in model.state_dict().items()}
    adapters = lora.attach(model, rank=2, scale=2.0)
    assert sorted(adapters) == ["gate_proj", "q_proj"]
    assert torch.equal(model(x), before)
    for adapter in adapters.values():
        adapter.up.data = torch.randn_like(adapter.up).bfloat16().float()
        adapter.down.data = adapter.down.data.bfloat16().float()
    trained = model(x)
    assert not torch.allclose(trained, before)
    lora.save(adapters, tmp_path, "block")

    again = Block()
    again.load_state_dict(first)
    lora.merge(again, lora.load(again, tmp_path))
    assert torch.allclose(again(x), trained, atol=1e-5)
    assert sorted(again.state_dict()) == sorted(first)


def test_batches_hold_every_sequence_once_and_keep_their_bound() -> None:
    lengths = [Random(1).randrange(10, 300) for _ in range(200)]
    found = batches(lengths, 1000, Random(0))
    assert sorted(i for batch in found for i in batch) == list(range(200))
    assert all(max(lengths[i] for i in batch) * len(batch) <= 1000 for batch in found)


async def test_only_learned_parts_and_the_end_of_the_turn_are_learned() -> None:
    tokens = await Tokens(PEBBLE).open()
    parts = [
        {"text": "<think>\n", "learned": True},
        {"text": "3 + 4 = 8", "learned": False},
        {"text": "\n\nno, 7\n</think>\n\n#### 7", "learned": True},
    ]
    example = {"mode": "think", "question": "What is 3 + 4?", "kind": "number", "parts": parts, "trace": ""}
    row = await tokens.sequence(example)
    read = tokens._tokenizer.decode
    assert read([i for i, learned in zip(row.ids, row.learned, strict=True) if learned]).endswith(
        "<think>\n\n\nno, 7\n</think>\n\n#### 7<|im_end|>"
    )
    assert read(row.ids).endswith(
        "<|im_start|>assistant\n<think>\n3 + 4 = 8\n\nno, 7\n</think>\n\n#### 7<|im_end|>"
    )


async def test_an_answer_pass_is_put_to_the_model_as_a_cascade_would() -> None:
    tokens = await Tokens(PEBBLE).open()
    parts = [{"text": "#### 7", "learned": True}]
    example = {
        "mode": "answer",
        "question": "What is 3 + 4?",
        "kind": "number",
        "parts": parts,
        "trace": "<think>\n3 +",
    }
    row = await tokens.sequence(example)
    text = tokens._tokenizer.decode(row.ids)
    assert "maybe cut off:\n<think>\n3 +\nUse it" in text
    assert text.endswith("<think>\n\n</think>\n\n#### 7<|im_end|>")


def test_a_new_mark_can_be_the_likeliest_token() -> None:
    torch.manual_seed(1)
    words = [word for like in LIKE.values() for word in like]
    ids = {token: i for i, token in enumerate([*words, *LIKE])}
    rows = torch.randn(len(ids), 256)
    begin_marks(rows, ids)
    for mark in LIKE:
        assert int((rows @ rows[ids[mark]]).argmax()) == ids[mark]
        # Where one of its words is meant, the word wins.
        for word in LIKE[mark]:
            assert int((rows @ rows[ids[word]]).argmax()) == ids[word]
