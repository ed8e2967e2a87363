"""The page's files, what it may know and who may know it; and that `/docs` tells what the gateway accepts."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from running import Client, gateway_running

from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.gateway.admission.auth import new_key
from thinkcap.gateway.pages.interface import described
from thinkcap.gateway.pages.openapi import OPERATIONS, description

FILES = {"/": "text/html", "/page.css": "text/css", "/page.js": "text/javascript", "/docs": "text/html"}
ASKED: dict[str, Any] = {
    "model": "scripted",
    "messages": [{"role": "user", "content": "2?"}],
    "input": "2?",
    "prompt": "2?",
    "max_tokens": 32,
}


def engine() -> ScriptedEngine:
    return ScriptedEngine(lambda prompt: "<think>hm</think>It is 42.")


def test_files_come_with_a_policy_that_lets_nothing_else_in() -> None:
    with gateway_running(engine()) as (address, _):
        for path, kind in FILES.items():
            found = Client(address).get(path)
            assert found.status_code == 200
            assert found.headers["content-type"].startswith(kind)
            policy = found.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert found.headers["x-content-type-options"] == "nosniff"
            assert not re.search(r"https?://", found.text), "the page names an address outside the gateway"
            assert not re.search(r"\son\w+=|javascript:|<style|<script>", found.text)


def test_one_setting_takes_all_of_it_away() -> None:
    with gateway_running(engine(), page=False) as (address, _):
        for path in (*FILES, "/page.json"):
            assert Client(address).get(path).json()["error"]["code"] == "path_not_found"
        assert Client(address).get("/openapi.json").status_code == 200


def test_counts_grow_and_need_a_key_where_keys_are_set() -> None:
    key, line = new_key("alice")
    with gateway_running(engine(), keys={"alice": line.split('"')[1]}) as (address, _):
        assert Client(address).get("/").status_code == 200
        stranger = Client(address).get("/page.json")
        assert stranger.status_code == 401
        assert (
            "scripted" not in stranger.text + Client(address).get("/").text + Client(address).get("/page.js").text
        )
        alice = Client(address, Authorization=f"Bearer {key}")
        before = alice.get("/page.json").json()
        body = {k: ASKED[k] for k in ("model", "messages", "max_tokens")}
        assert alice.post("/v1/chat/completions", json=body).status_code == 200
        assert alice.post("/v1/chat/completions", json={**body, "model": "x"}).status_code == 404
        counts = alice.get("/page.json").json()["counts"]
    (model,) = before["models"]
    assert (model["name"], model["asked"]) == ("scripted", "by token ids")
    assert [(step["from"], step["policy"]) for step in model["steps"]] == [(1, "nothink"), (256, "close")]
    assert {"nothink", "close", "vote"} <= {one["name"] for one in before["methods"]}
    assert "placebo" not in {one["name"] for one in before["methods"]}
    assert before["counts"]["answered"] == 0
    assert (counts["answered"], counts["failed"]) == (1, 0)
    assert counts["refused"] == before["counts"]["refused"] + 1
    assert counts["tokens"] == sum(counts["tokens_by_stage"].values()) > 0


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("192.0.2.7:8080", "http://192.0.2.7:8080", 200),
        ("192.0.2.7:8080", "http://192.0.2.7:9999", 403),
        ("rebound.example:8080", "http://rebound.example:8080", 403),
        ("gate.example:8080", "http://gate.example:8080", 200),
    ],
)
def test_a_gateway_open_to_anyone_knows_its_own_page(host: str, origin: str, status: int) -> None:
    """By its address, or a name the operator gave; any other name may have been pointed here by somebody."""
    hosts = ["gate.example"] if "gate" in host else []
    with gateway_running(engine(), anyone=True, hosts=hosts) as (address, _):
        body = {k: ASKED[k] for k in ("model", "messages", "max_tokens")}
        found = Client(address).post("/v1/chat/completions", json=body, headers={"Host": host, "Origin": origin})
        assert found.status_code == status


def test_the_description_names_exactly_what_is_read() -> None:
    api = description(with_keys=False)
    for one in OPERATIONS:
        form = api["components"]["schemas"][one.form.__name__]
        assert tuple(form["properties"]) == one.form.__struct_fields__
        needed = [field.name for field in msgspec.structs.fields(one.form) if field.required]
        assert sorted(form.get("required", [])) == sorted(needed)
        assert api["paths"][one.path]["post"]["requestBody"]["content"]["application/json"]["schema"] == {
            "$ref": f"#/components/schemas/{one.form.__name__}"
        }


@pytest.mark.parametrize("path", [one.path for one in OPERATIONS if one.name != "completions"])
def test_every_field_told_is_known_and_no_other(path: str) -> None:
    one = next(o for o in OPERATIONS if o.path == path)
    text = described(description(with_keys=False))
    section = text.split(f"<code>{path}</code></h2>")[1].split("<h2")[0]
    told = re.findall(r"<tr><td><code>(\w+)</code>", section)
    assert tuple(told) == one.form.__struct_fields__
    with gateway_running(engine()) as (address, _):
        client = Client(address)
        base = {name: value for name, value in ASKED.items() if name in told}
        for name in told:
            found = client.post(path, json={**base, name: base.get(name)}).json()
            # Anthropic's errors have no code; the words say it.
            assert "unknown field" not in str(found.get("error", "")), name
        assert "unknown field" in client.post(path, json={**base, "max_tokenz": 1}).text


def test_what_is_refused_is_said_to_be_refused() -> None:
    text = described(description(with_keys=False))
    section = text.split("<code>/v1/responses</code></h2>")[1].split("<h2")[0]
    row = next(r for r in section.split("<tr>") if "previous_response_id" in r)
    assert "Refused: nothing is stored" in row
    assert "thinkcap.gateway" not in text
