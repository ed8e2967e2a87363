"""Strange input: schemathesis against the gateway's own description, and bytes that are no request at all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from running import Client, gateway_running
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.gateway.pages.openapi import description

URL = "/v1/chat/completions"
CALM = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def reply(prompt: str) -> str:
    return "<think>hm</think>It is 42." if prompt.endswith("[assistant]") else "It is 42."


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with gateway_running(ScriptedEngine(reply)) as (address, _):
        yield address


schema = schemathesis.openapi.from_dict(description(with_keys=False))


THREE = [URL, "/v1/responses", "/v1/messages"]


@schema.include(path=THREE).parametrize()
@CALM
def test_every_generated_request_gets_a_described_answer(case: schemathesis.Case, address: str) -> None:
    # Most generated names are no model of ours; half the time ask for the real one, so that more is reached.
    if (
        isinstance(case.body, dict)
        and isinstance(case.body.get("model"), str)
        and len(case.body["model"]) % 2 == 0
    ):
        case.body["model"] = "scripted"
        case.body["max_output_tokens" if "input" in case.body else "max_tokens"] = 64
    _check(case, address)


@schema.exclude(path=THREE).parametrize()
@settings(CALM, max_examples=5)
def test_the_other_paths_answer_as_described(case: schemathesis.Case, address: str) -> None:
    _check(case, address)


def _check(case: schemathesis.Case, address: str) -> None:
    session = requests.Session()
    session.trust_env = False
    case.call_and_validate(
        base_url=address.removesuffix("/v1"),
        session=session,
        checks=[
            not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_schema_conformance,
        ],
    )


@CALM
@given(body=st.binary(max_size=300))
def test_bytes_that_are_no_json_are_a_400(address: str, body: bytes) -> None:
    found = Client(address).post(URL, data=body)
    assert found.status_code == 400
    assert found.json()["error"]["message"]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
SCHEMAS = description(with_keys=False)["components"]["schemas"]
ASKED = {"messages": [{"role": "user", "content": "2?"}], "max_tokens": 32}
WIRES: dict[str, tuple[str, dict[str, object]]] = {
    URL: ("ChatRequest", ASKED),
    "/v1/responses": ("ResponsesRequest", {"input": "2?", "max_output_tokens": 32}),
    "/v1/messages": ("MessagesRequest", ASKED),
}
FIELDS = [(path, field) for path, (form, _) in WIRES.items() for field in SCHEMAS[form]["properties"]]


@settings(CALM, max_examples=250)
@given(where=st.sampled_from(FIELDS), value=JSON)
def test_any_value_in_any_field_is_answered_or_refused_by_name(
    address: str, where: tuple[str, str], value: object
) -> None:
    path, field = where
    found = Client(address).post(path, json={"model": "scripted", **WIRES[path][1], field: value})
    assert found.status_code in (200, 400, 404), found.text
    if found.status_code != 200:
        assert found.json()["error"]["code"]


@settings(CALM, max_examples=80)
@given(
    text=st.text(max_size=60),
    policy=st.sampled_from(["nothink", "close", "iris", "two_pass"]),
    stream=st.booleans(),
)
def test_any_text_goes_through_any_policy(address: str, text: str, policy: str, stream: bool) -> None:
    body = {
        "model": f"scripted+{policy}",
        "messages": [{"role": "user", "content": text.encode("utf-8", "replace").decode()}],
        "max_tokens": 60,
        "stream": stream,
    }
    assert Client(address).post(URL, json=body).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000,
        b'{"model": "scripted", "messages": ' + b'[{"role":"user","content":[' * 5000,
        b'{"model": "scripted", "messages": [{"role": "user", "content": "\\ud800"}]}',
        b'{"model": "scripted", "messages": [{"role": "user", "content": "\xff"}]}',
        b'{"model": "scripted", "max_tokens": 1e999, "messages": []}',
        b'{"model": "scripted", "seed": 99999999999999999999, "messages": [{"role": "user", "content": "x"}]}',
        b"",
        b"null",
        b'"text"',
        b"{}",
    ],
    ids=range(10),
)
def test_hostile_json_is_a_400(address: str, body: bytes) -> None:
    found = Client(address).post(URL, data=body)
    assert found.status_code == 400
    assert "Traceback" not in found.text
