"""What the file says, against what llama.cpp itself says of it."""

from __future__ import annotations

import os
from pathlib import Path

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import ALWAYS, KEY, NEVER, write_tiny

from thinkcap.core.errors import ConfigError, Unsupported
from thinkcap.engines import open_engine
from thinkcap.engines.gguf import byte_alphabet, read_gguf


async def test_local_decoding_is_llama_cpps_own(tiny: Path, served: str) -> None:
    vocabulary = read_gguf(tiny).vocabulary
    assert vocabulary is not None
    ids = [*"Grüße, 2 + 3!".encode(), *range(128), 256, 259, 104, 260]
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {KEY}"}) as session,
        session.post(f"{served}/detokenize", json={"tokens": ids}) as response,
    ):
        theirs = (await response.json())["content"]
    assert vocabulary.decode(ids) == theirs
    assert vocabulary.decode([*ids, *vocabulary.ends]) == theirs


@given(st.text())
def test_every_text_survives_bytes_and_back(text: str) -> None:
    raw = text.encode("utf-8", "replace")
    assert bytes(byte_alphabet()[c] for c in _as_stand_ins(raw)) == raw


def _as_stand_ins(raw: bytes) -> str:
    back = {b: c for c, b in byte_alphabet().items()}
    assert len(back) == 256
    return "".join(back[b] for b in raw)


def test_a_cut_inside_a_character_shows_as_one(tiny: Path) -> None:
    vocabulary = read_gguf(tiny).vocabulary
    assert vocabulary is not None
    assert vocabulary.decode(list("é".encode())[:1]) == "\N{REPLACEMENT CHARACTER}"
    stream = vocabulary.stream()
    assert [stream.decode(bytes([b])) for b in "é".encode()] == ["", "é"]


def test_facts_of_the_header(tiny: Path) -> None:
    facts = read_gguf(tiny)
    assert (facts.name, facts.architecture, facts.context, facts.dtype) == ("tiny", "qwen3", 2048, "F32")
    assert facts.cache_bytes == 2 * 2 * 2 * (32 + 32)


@pytest.mark.parametrize(
    ("raw", "words"),
    [(b"hello", "not a GGUF file"), (b"", "not a GGUF file"), (b"GGUF\x03\0\0\0" + b"\xff" * 40, "damaged")],
)
def test_what_is_no_gguf_is_refused_by_name(tmp_path: Path, raw: bytes, words: str) -> None:
    path = tmp_path / "wrong.gguf"
    path.write_bytes(raw)
    with pytest.raises(ConfigError, match=words):
        read_gguf(path)


async def test_a_file_cut_short_is_refused_in_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write_tiny(tmp_path / "short.gguf")
    os.truncate(path, 400_000)
    with pytest.raises(ConfigError, match=r"llama\.cpp cannot load") as caught:
        await open_engine(str(path))
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


async def test_loading_and_closing_leave_the_terminal_clean(tiny: Path, capfd: pytest.CaptureFixture[str]) -> None:
    engine = await open_engine(str(tiny), concurrency=2)
    await engine.aclose()
    assert capfd.readouterr() == ("", "")


async def test_how_nothink_is_made_depends_on_the_template(tmp_path: Path) -> None:
    from thinkcap.core.types import Question, Request

    question = Question("q", ({"role": "user", "content": "Hi"},))
    nothink, think = (Request(question, mode, 9, stage="s") for mode in ("nothink", "think"))
    always = write_tiny(tmp_path / "always.gguf", ALWAYS)
    engine = await open_engine(str(always), concurrency=1)
    assert engine.card.switch == "none"
    assert (await engine.prompt(think)).opened
    await engine.aclose()
    engine = await open_engine(str(always), concurrency=1, nothink_by="block")
    prompt = await engine.prompt(nothink)
    assert (await engine.read(prompt.ids or ())).endswith("assistant\n<think>\n\n</think>\n\n")
    assert prompt.closed
    assert prompt.forced == 0
    await engine.aclose()
    never = write_tiny(tmp_path / "never.gguf", NEVER)
    engine = await open_engine(str(never), concurrency=1)
    assert engine.card.switch == "prompt"
    assert "without thinking" in await engine.read((await engine.prompt(nothink)).ids or ())
    assert "step by step" in await engine.read((await engine.prompt(think)).ids or ())
    await engine.aclose()
    with pytest.raises(Unsupported, match="nothink-by block"):
        await open_engine(str(never), concurrency=1, nothink_by="native")
    with pytest.raises(ConfigError, match="did you mean 'block'"):
        await open_engine(str(never), nothink_by="blok")


async def test_room_is_checked_before_loading(tiny: Path) -> None:
    with pytest.raises(ConfigError, match="wanted 1 to 2048"):
        await open_engine(str(tiny), context=4096)
    with pytest.raises(ConfigError, match="cannot be negative"):
        await open_engine(str(tiny), concurrency=-1)
