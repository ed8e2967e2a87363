"""Watch mode: what the client gets is what the server sent, and the journal has it before the client does."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from running import Client, app_running, watch_running

from thinkcap.cli import main
from thinkcap.core.errors import ConfigError
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.gateway.admission.auth import new_key
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.watch.journal import WatchJournal
from thinkcap.logs.door import read

SECRET = "a question nobody else may read"


class Upstream:
    """Answers every wire from a script of chance, and records what it was asked and what it sent."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        self.sent: dict[str, bytes] = {}
        self.lost: dict[str, bool] = {}
        """Which answers were cut or empty."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        headers = {n.decode(): v.decode() for n, v in scope["headers"]}
        self.asked.append((scope["path"], headers, body))
        name = headers.get("x-name", "")
        chance = random.Random(name)
        asked = json.loads(body) if body else {}
        kind, pieces, lost = replied(scope["path"], asked, chance)
        self.lost[name] = lost
        status = 200
        if chance.random() < 0.1 and not asked.get("stream"):
            status, pieces = 429, [b'{"error": {"message": "busy"}}']
        extra = [(b"x-own", b"kept"), (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]
        if "gzip" in headers.get("accept-encoding", "") and kind == b"application/json" and chance.random() < 0.3:
            pieces = [gzip.compress(b"".join(pieces))]
            extra.append((b"content-encoding", b"gzip"))
        if kind == b"application/json" and chance.random() < 0.5:
            extra.append((b"content-length", b"%d" % sum(map(len, pieces))))
        self.sent[name] = b"".join(pieces)
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind), *extra]})
        for piece in pieces:
            # Bytes come cut anywhere, also inside a character.
            cut = chance.randrange(len(piece) + 1)
            for part in (piece[:cut], piece[cut:]):
                await send({"type": "http.response.body", "body": part, "more_body": True})
                await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})


def replied(path: str, asked: dict[str, Any], chance: random.Random) -> tuple[bytes, list[bytes], bool]:
    cap = asked.get("max_tokens") or asked.get("max_output_tokens") or 50
    length = chance.randrange(1, 80)
    cut, spent = length > cap, min(length, cap)
    text = "" if cut and chance.random() < 0.5 else "grün " * 3
    usage = {"prompt_tokens": 5, "completion_tokens": spent, "input_tokens": 5, "output_tokens": spent}
    if path == "/v1/messages":
        whole = {
            "type": "message",
            "model": "m",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "max_tokens" if cut else "end_turn",
            "usage": usage,
        }
        events = [
            {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 5}}},
            {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}},
            {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"]}, "usage": usage},
            {"type": "message_stop"},
        ]
    elif path == "/v1/responses":
        output = [{"type": "message", "content": [{"type": "output_text", "text": text}]}]
        whole = {"model": "m", "status": "incomplete" if cut else "completed", "output": output, "usage": usage}
        whole["incomplete_details"] = {"reason": "max_output_tokens"} if cut else None
        last = "response.incomplete" if cut else "response.completed"
        events = [{"type": "response.output_text.delta", "delta": text}, {"type": last, "response": whole}]
    else:
        finish = "length" if cut else "stop"
        said = {"text": text} if path == "/v1/completions" else {"message": {"content": text}}
        whole = {"model": "m", "choices": [{"index": 0, **said, "finish_reason": finish}], "usage": usage}
        piece = {"text": text} if path == "/v1/completions" else {"delta": {"content": text}}
        events = [
            {"model": "m", "choices": [{"index": 0, **piece}]},
            {"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage},
        ]
    lost = cut or not text
    if not asked.get("stream"):
        raw = json.dumps(whole, ensure_ascii=False).encode()
        return b"application/json", [raw[:40], raw[40:]], lost
    data = [b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n" for event in events]
    return (
        b"text/event-stream",
        [b": hello\n\n", *data, *([] if "type" in events[0] else [b"data: [DONE]\n\n"])],
        lost,
    )


@contextmanager
def watching(tmp_path: Path, **settings: Any) -> Iterator[tuple[Client, Upstream, Path]]:
    upstream, folder = Upstream(), tmp_path / "journal"
    with app_running(upstream) as behind, watch_running(behind, folder, **settings) as (client, _):
        yield client, upstream, folder


def entries(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]


PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages")


@pytest.mark.parametrize("asked", [100, pytest.param(2000, marks=pytest.mark.campaign)])
def test_bytes_at_the_client_are_the_bytes_of_the_server(tmp_path: Path, asked: int, request: Any) -> None:
    campaign = request.getfixturevalue("campaign") if asked > 100 else None
    asked = campaign.of(asked) if campaign else asked
    with watching(tmp_path) as (client, upstream, folder):
        for number in range(asked):
            path, stream = PATHS[number % 4], number % 3 == 0
            cap = "max_output_tokens" if path == "/v1/responses" else "max_tokens"
            body = {"model": "m", cap: 10 + number % 60, "stream": stream, "knob_of_tomorrow": [1, None]}
            body["messages"] = [{"role": "user", "content": SECRET}]
            raw = json.dumps(body, indent=number % 2).encode()
            sent = {"content-type": "application/json", "authorization": "Bearer sk-1", "x-name": str(number)}
            reply = client.post(path, data=raw, headers=sent, stream=True)
            got = reply.raw.read(decode_content=False)
            # The line is there by the time the last byte is.
            assert len(entries(folder)) == number + 1
            there, headers, body_there = upstream.asked[-1]
            assert (there, body_there, headers["authorization"]) == (path, raw, "Bearer sk-1")
            assert got == upstream.sent[str(number)]
            assert reply.headers["x-own"] == "kept"
            assert not [name for name in reply.headers if "thinkcap" in name]
            assert reply.raw.headers.getlist("set-cookie") == ["a=1", "b=2"]
        lines = entries(folder)
        (file,) = folder.glob("*.jsonl")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert SECRET not in file.read_text()
        assert "sk-1" not in file.read_text()
        assert "grün" not in file.read_text()
    answered = [number for number, line in enumerate(lines) if line["status"] == 200]
    assert len(answered) < asked
    (found,) = diagnose(read([folder])).traffic
    assert found.rows == len(answered)
    assert found.lost.k == sum(upstream.lost[str(number)] for number in answered)
    assert found.failed == asked - len(answered)
    assert found.curve is not None
    if campaign:
        campaign.says(f"{asked:,} requests and streams through `--watch`: every byte as the server sent it")


def test_other_paths_pass_and_are_not_in_the_journal(tmp_path: Path) -> None:
    with watching(tmp_path) as (client, upstream, folder):
        assert client.get("/v1/models?a=1%2F2").status_code in (200, 429)
        assert upstream.asked[0][0] == "/v1/models"
        assert entries(folder) == []


def test_the_name_of_a_key_and_never_the_key(tmp_path: Path) -> None:
    key, line = new_key("alice")
    name, _, value = line.partition(" = ")
    with watching(tmp_path, keys={name: value.strip('"')}) as (client, _, folder):
        for sent in (key, "another"):
            client.post(PATHS[0], json={"model": "m"}, headers={"authorization": f"Bearer {sent}"})
        assert [line["key"] for line in entries(folder)] == ["alice", ""]
        assert key not in next(folder.glob("*.jsonl")).read_text()


def shortened(texts: dict[str, str]) -> dict[str, str] | None:
    if "drop" in texts["question"]:
        raise ValueError("not this one")
    return {"question": texts["question"].replace("Alice", "X")}


def test_texts_are_kept_only_where_asked_and_as_the_hook_leaves_them(tmp_path: Path) -> None:
    hook = f"{__name__}:shortened"
    with watching(tmp_path, watch_texts=True, watch_redact=hook) as (client, _, folder):
        for text in ("Who is Alice?", "drop this"):
            client.post(PATHS[0], json={"model": "m", "messages": [{"role": "user", "content": text}]})
        first, second = entries(folder)
        assert (first["question"], "answer" in first) == ("Who is X?", False)
        assert "question" not in second


def test_a_server_that_is_gone_is_a_502_and_in_the_journal(tmp_path: Path) -> None:
    with watch_running("http://127.0.0.1:9", tmp_path / "j") as (client, _):
        reply = client.post(PATHS[0], json={"model": "m"})
        assert (reply.status_code, reply.json()["error"]["code"]) == (502, "unreachable")
    (line,) = entries(tmp_path / "j")
    assert (line["status"], line["cap"], line["answers"]) == (502, None, [])


def test_the_journal_turns_its_pages_and_is_bounded(tmp_path: Path) -> None:
    one, two = WatchJournal(tmp_path, 4000), WatchJournal(tmp_path, 4000)
    for number in range(200):
        one.write({"number": number, "filler": "x" * 50})
        two.write({"number": number, "filler": "y" * 50})
    assert one.path != two.path
    assert one.path.exists()
    assert two.path.exists()
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 4000 + 2 * 500
    assert json.loads(two.path.read_text().splitlines()[-1])["number"] == 199


def test_gateways_side_by_side_keep_one_journal(tmp_path: Path) -> None:
    """Three gateways, one folder, requests in turn: each line whole and once, and one diagnosis of all."""
    folder, names = tmp_path / "journal", [f"m{number}" for number in range(30)]
    with ExitStack() as stack:
        behind = stack.enter_context(app_running(Upstream()))
        clients = [stack.enter_context(watch_running(behind, folder))[0] for _ in range(3)]
        for number, name in enumerate(names):
            clients[number % 3].post(PATHS[0], json={"model": name, "max_tokens": 9})
    assert len(list(folder.glob("*.jsonl"))) == 3
    assert sorted(line["model"] for line in entries(folder)) == sorted(names)
    found = diagnose(read([folder])).traffic
    assert sum(one.rows + one.failed for one in found) == len(names)


def test_watch_on_an_open_address_has_to_be_said() -> None:
    with pytest.raises(ConfigError, match="--anyone"):
        ServeConfig.from_mapping({"model": "http://a/v1", "watch": True, "host": "0.0.0.0"})
    with pytest.raises(SystemExit):
        main(["serve", "bundled", "--watch", "--port", "0"])


def test_a_torn_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "watch-1.jsonl"
    answer = {"finish": "length", "tokens": 5, "empty": True}
    line = json.dumps({"watch": 1, "model": "m", "key": "bob", "cap": 5, "complete": True, "answers": [answer]})
    path.write_text(f"{line}\n{line[:30]}\n{line}\n")
    records = read([path])
    (found,) = diagnose(records).traffic
    assert (found.rows, found.cut.k, found.empty.k, found.callers[0].name) == (2, 2, 2, "bob")
    assert any("1 lines are not whole" in note for note in records.notes)


def test_a_clients_own_id_is_in_the_journal_and_a_strange_one_is_not(tmp_path: Path) -> None:
    with watching(tmp_path) as (client, _, folder):
        for name in ("order-66", "two words"):
            client.post(PATHS[0], json={"model": "m"}, headers={"x-request-id": name})
        assert [line.get("request_id") for line in entries(folder)] == ["order-66", None]
