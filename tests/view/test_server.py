"""The server answers this machine only, shows what lies in its folder only, and changes nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest
from aiohttp.test_utils import TestClient, TestServer
from chains import HOSTILE

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.report.explorer.page import content
from thinkcap.view.server import app, serve
from thinkcap.view.shelf import Shelf, place_of

Client = TestClient[object, object]


@pytest.fixture
async def client(runs: Path) -> AsyncIterator[Client]:
    async with TestClient(TestServer(app(runs))) as found:
        yield found  # type: ignore[misc]


def files(root: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in root.rglob("*")}


async def test_it_lists_opens_searches_and_writes_nothing(client: Client, runs: Path) -> None:
    before = files(runs)
    listed = (await (await client.get("/runs.json")).json())["runs"]
    assert {run["name"]: (run["state"], run["questions"], run["rows"]) for run in listed} == {
        "first": ("finished", 30, 480),
        "second": ("finished", 36, 216),
    }
    for place in ("/", "/page.js", "/page.css", "/runs.js", "/runs.css", "/run/first/"):
        reply = await client.get(place)
        assert reply.status == 200
        assert "default-src 'none'" in reply.headers["content-security-policy"]
        assert "unsafe-inline" not in reply.headers["content-security-policy"]
        assert reply.headers["x-content-type-options"] == "nosniff"
    details = await (await client.get("/run/first/report-data/0.json")).json()
    assert details["3"] == json.loads(json.dumps(content(runs / "first").details[3]))
    found = await (await client.get("/run/first/search.json?q=WHAT+is")).json()
    texts = [d["text"] for d in content(runs / "first").details]
    assert set(found["questions"]) >= {i for i, text in enumerate(texts) if "what is" in text.lower()}
    assert files(runs) == before


async def test_a_comparison_is_that_of_the_report(client: Client, runs: Path) -> None:
    page = await (await client.get("/run/second/with/first/")).text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    wanted = json.loads(json.dumps(content(runs / "second", compare=runs / "first").data["other"]))
    assert data["other"] == wanted
    assert any("paired" in cell for cell in wanted["cells"])


async def test_words_are_found_in_chains_and_come_back_as_text(client: Client) -> None:
    reply = await client.get("/search.json", params={"q": "window.HARMED = true"})
    text = await reply.text()
    assert "<script" not in text
    hits = json.loads(text)["hits"]
    assert hits
    assert all(hit["where"] == "chain (think)" for hit in hits)
    assert (
        "".join(hits[0]["around"])[20:80] in HOSTILE.replace("\n", "") or "window.harmed" in hits[0]["around"][1]
    )


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "localhost.evil.example", ""])
async def test_a_foreign_name_is_refused(client: Client, host: str) -> None:
    assert (await client.get("/runs.json", headers={"host": host})).status == 403


async def test_a_foreign_page_is_refused(client: Client) -> None:
    assert (await client.get("/runs.json", headers={"origin": "https://evil.example"})).status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_only_get(client: Client, method: str) -> None:
    assert (await client.request(method, "/run/first/")).status == 405


@pytest.mark.parametrize(
    "place",
    [
        *("/run/none/", "/run/..%2Ffirst/", "/run/..%2F..%2Fetc/", "/run/first/report.html", "/run/first%00/"),
        *("/run/first/with/none/", f"/run/{quote('/etc', safe='')}/", "/run/first/report-data/..%2f0.json"),
    ],
)
async def test_nothing_beside_the_runs(client: Client, place: str) -> None:
    reply = await client.get(place)
    assert reply.status in (404, 422)
    assert (await reply.text()).startswith(("thinkcap: there is no", "thinkcap: "))


async def test_links_out_of_the_folder_are_not_followed(runs: Path, tmp_path: Path) -> None:
    root = tmp_path / "runs"
    shutil.copytree(runs / "second", root / "kept")
    shutil.copytree(runs / "second", root / "linked")
    (root / "linked" / "chains.jsonl").unlink()
    (root / "linked" / "chains.jsonl").symlink_to(runs / "first" / "chains.jsonl")
    (root / "elsewhere").symlink_to(runs / "first")
    assert [run["name"] for run in Shelf(root).listed()] == ["kept"]
    async with TestClient(TestServer(app(root))) as found:
        assert (await found.get("/run/linked/")).status == 404
        assert (await found.get("/run/elsewhere/")).status == 404


async def test_a_broken_run_hides_no_other(runs: Path, tmp_path: Path) -> None:
    root = tmp_path / "runs"
    shutil.copytree(runs / "second", root / "good")
    for name, text in (("torn", '{"rows": 3'), ("other", '{"rows": 1, "failed": 0, "provenance": 7, "cells": 3}')):
        (root / name).mkdir()
        (root / name / "rows.jsonl").write_text("{}\n")
        (root / name / "summary.json").write_text(text)
        (root / name / "study.toml").write_text("model = 7")
    async with TestClient(TestServer(app(root))) as found:
        listed = (await (await found.get("/runs.json")).json())["runs"]
        assert {run["name"] for run in listed} == {"good", "torn", "other"}
        assert (await found.get("/run/good/")).status == 200
        for name in ("torn", "other"):
            for place in (f"/run/{name}/", f"/run/{name}/live.json"):
                reply = await found.get(place)
                assert reply.status < 500
                assert "Traceback" not in await reply.text()


@pytest.mark.parametrize("place", ["/run/second/live.json?since={}", "/run/second/report-data/{}.json"])
async def test_a_number_of_many_digits_is_no_number(client: Client, place: str) -> None:
    assert (await client.get(place.format("9" * 5000))).status < 500


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("study.toml", "tasks = 7\nmade = 2026-01-01"),
        ("study.toml", "a = " + "[" * 3000),
        ("progress.json", '{"a": ' + "[" * 3000),
        ("rows.jsonl", "[" * 3000 + "\n"),
        ("rows.jsonl", '{"task": 1}\n'),
    ],
)
async def test_a_stopped_run_of_a_stranger_is_shown_or_refused(
    runs: Path, tmp_path: Path, name: str, text: str
) -> None:
    root = tmp_path / "runs"
    shutil.copytree(runs / "second", root / "theirs")
    (root / "theirs" / "summary.json").unlink()
    (root / "theirs" / name).write_text(text)
    async with TestClient(TestServer(app(root))) as found:
        for place in ("/runs.json", "/run/theirs/", "/run/theirs/live.json", "/run/theirs/report-data/0.json"):
            assert (await found.get(place)).status < 500, place


@pytest.mark.parametrize("lost", ["rows", "comparisons", "tokens_alone"])
async def test_a_finished_run_of_a_stranger_lacks_something(runs: Path, tmp_path: Path, lost: str) -> None:
    root = tmp_path / "runs"
    shutil.copytree(runs / "second", root / "theirs")
    summary = json.loads((root / "theirs" / "summary.json").read_text())
    (root / "theirs" / "summary.json").write_text(json.dumps({**summary, lost: {}}))
    with pytest.raises(DataError, match="not a summary"):
        Shelf(root).content("theirs")


async def test_headlines_are_those_of_the_diagnosis(runs: Path) -> None:
    shelf = Shelf(runs)
    for folder in shelf.without_headline():
        shelf.diagnose(folder)
    assert shelf.without_headline() == []
    said = {run["name"]: run["headline"] for run in shelf.listed()}
    assert content(runs / "first").data["verdict"][0] in said["first"]


def test_a_run_itself_may_be_named(runs: Path, tmp_path: Path) -> None:
    assert place_of(runs / "first") == (runs, "first")
    (tmp_path / "study").symlink_to(runs / "first")
    assert place_of(tmp_path / "study") == (runs, "first")
    with pytest.raises(ConfigError, match="no folder at"):
        place_of(runs / "none")


async def test_a_busy_port_is_one_line(runs: Path) -> None:
    async with TestServer(app(runs)) as busy:
        with pytest.raises(ConfigError, match="choose another --port"):
            await serve(runs, port=busy.port, opened=lambda _: None)
