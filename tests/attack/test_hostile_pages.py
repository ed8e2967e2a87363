"""A real browser: pages of other hosts can neither read a keyless gateway nor reach it by a name of theirs."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from opened import started_browser
from running import gateway_running

from thinkcap.engines.scripted import ScriptedEngine

pytestmark = pytest.mark.browser
ASK = """async ([address, kind]) => {
  try {
    const reply = await fetch(address + "/chat/completions", {method: "POST", headers: {"content-type": kind},
      body: JSON.stringify({model: "m", messages: [{role: "user", content: "Hi"}], max_tokens: 8})});
    return [reply.status, await reply.text()];
  } catch (error) { return [0, String(error)]; }
}"""


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>evil</title>")

    def log_message(self, *_: Any) -> None:
        """Silent."""


@pytest.fixture(scope="module")
def place() -> Iterator[tuple[str, str, list[str]]]:
    asked: list[str] = []

    def reply(prompt: str) -> str:
        asked.append(prompt)
        return "It is 42."

    pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    with gateway_running(ScriptedEngine(reply)) as (address, _):
        yield address, f"http://evil.example:{pages.server_port}/", asked
    pages.shutdown()
    pages.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from started_browser(
        "--host-resolver-rules=MAP *.example 127.0.0.1", "--disable-features=LocalNetworkAccessChecks"
    )


@pytest.mark.parametrize("kind", ["text/plain", "application/json"])
def test_another_pages_script_reads_nothing_and_costs_nothing(browser: Any, place: Any, kind: str) -> None:
    address, evil, asked = place
    page = browser.new_page()
    page.goto(evil)
    before = len(asked)
    status, text = page.evaluate(ASK, [address, kind])
    assert status == 0, f"the page could read the answer: {text}"
    assert len(asked) == before, "the model was asked on the page's behalf"


def test_a_name_bound_to_the_loopback_is_misdirected(browser: Any, place: Any) -> None:
    address, _, asked = place
    port = urlsplit(address).port
    page = browser.new_page()
    before = len(asked)
    reply = page.goto(f"http://rebound.example:{port}/v1/models")
    assert reply.status == 421
    status, text = page.evaluate(ASK, [f"http://rebound.example:{port}/v1", "application/json"])
    assert status == 421, text
    assert len(asked) == before
