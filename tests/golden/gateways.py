"""Start gateways with the command line and speak HTTP to them.

with gateway(folder, {"port": 0, "models": [...]}) as address:
    exchange(address, {"method": "GET", "path": "/v1/models"}, normaliser)
"""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import tomli_w

from golden.commands import environment
from golden.normalise import Normaliser
from golden.upstream import STREAM_BEGAN

HEADERS = ("content-type", "retry-after", "www-authenticate", "allow", "x-thinkcap")
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


@contextmanager
def gateway(folder: Path, settings: Mapping[str, Any]) -> Iterator[str]:
    """The address of `thinkcap serve` with these settings, in a process of its own."""
    file = folder / "serve.toml"
    file.write_text(tomli_w.dumps(settings))
    process = subprocess.Popen(
        [sys.executable, "-m", "thinkcap", "serve", "--config", str(file)],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    printed = ""
    try:
        while not (found := _ADDRESS.search(printed)):
            line = process.stderr.readline()
            assert line, f"the gateway did not start: {printed}"
            printed += line
        # Nobody reads the rest, and a full pipe would stop the gateway.
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield found[0]
    finally:
        process.terminate()
        process.wait()


def exchange(address: str, request: Mapping[str, Any], normaliser: Normaliser) -> dict[str, Any]:
    """Status, selected headers and the reply: JSON, text, or a list of server-sent events."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=300)
    body = request.get("body")
    raw = body if isinstance(body, str) else json.dumps(body) if body is not None else None
    headers = {"Content-Type": "application/json", **request.get("headers", {})}
    STREAM_BEGAN.clear()
    try:
        connection.request(request["method"], request["path"], raw, headers)
        response = connection.getresponse()
        begin = response.read1()
        STREAM_BEGAN.set()
        text = (begin + response.read()).decode()
    finally:
        connection.close()
    found = {name: normaliser.text(value) for name in HEADERS if (value := response.getheader(name))}
    return {"status": response.status, "headers": found, "reply": normaliser.value(_parsed(text, found))}


def _parsed(text: str, headers: Mapping[str, str]) -> Any:
    kind = headers.get("content-type", "")
    if kind.startswith("application/json"):
        return json.loads(text)
    return _joined(text) if kind.startswith("text/event-stream") else text


def _joined(text: str) -> list[Any]:
    """Events; a run of them that differ only in a piece of text becomes one, with the number of pieces."""
    found: list[Any] = []
    for block in text.split("\n\n"):
        if not block or block.startswith(":"):
            continue
        lines = dict(line.split(": ", 1) for line in block.split("\n"))
        if lines["data"].startswith("{"):
            event: Any = {**lines, "data": json.loads(lines["data"])}
        else:
            event = lines
        if found and (joined := _join(found[-1], event)) is not None:
            found[-1] = joined
        else:
            found.append(event)
    return found


def _join(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any] | None:
    """The two as one, if both carry the next piece of the same text."""
    last, new = _piece(one.get("data")), _piece(other.get("data"))
    if last is None or new is None or last[:2] != new[:2] or one.get("event") != other.get("event"):
        return None
    shape, place, text = last
    data = json.loads(shape)
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = text + new[2]
    return {**one, "data": data, "pieces": one.get("pieces", 1) + 1}


def _piece(data: Any) -> tuple[str, tuple[Any, ...], str] | None:
    """An event's shape without its text and number, where the text lies, and the text."""
    if not isinstance(data, dict):
        return None
    whole = json.loads(json.dumps(data))
    if "sequence_number" in whole:
        whole["sequence_number"] = "N"
    for place in _places(whole):
        inner = whole
        for key in place[:-1]:
            inner = inner[key]
        text, inner[place[-1]] = inner[place[-1]], ""
        return json.dumps(whole), place, text
    return None


def _places(data: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Where a streamed text lies: the only string of a chat delta, Anthropic's delta, or a Responses delta."""
    choices = data.get("choices")
    if choices and choices[0].get("finish_reason") is None and not choices[0].get("logprobs"):
        delta = choices[0].get("delta")
        if isinstance(delta, dict) and len(delta) == 1 and all(isinstance(text, str) for text in delta.values()):
            yield "choices", 0, "delta", *delta
        elif "text" in choices[0]:
            yield "choices", 0, "text"
    delta = data.get("delta")
    if isinstance(delta, str):
        yield ("delta",)
    elif isinstance(delta, dict):
        texts = [key for key, value in delta.items() if key != "type" and isinstance(value, str)]
        if len(texts) == len(delta) - 1 == 1:
            yield "delta", texts[0]
