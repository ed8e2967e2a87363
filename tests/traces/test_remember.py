"""A cut equals a fresh run, in any order of budgets; each token is generated once; nothing finished is lost."""

import asyncio
import sqlite3
import tempfile
import zlib
from array import array
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkcap.core.complete import complete
from thinkcap.core.engine import Prompt
from thinkcap.core.errors import StoreError
from thinkcap.core.types import GREEDY, Completion, Question, Request, Sampling
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.traces import store as stores
from thinkcap.traces.remember import Remembering, _with_budget
from thinkcap.traces.store import TraceStore
from thinkcap.traces.trace import Trace

Q = Question("q", ({"role": "user", "content": "2+3?"},), kind="number")
replies = st.text(st.sampled_from("ab<>é"), max_size=24).flatmap(
    lambda t: st.sampled_from([t, f"<think>{t}</think>5", f"<think>{t}", t + "\0"])
)
budgets = st.lists(st.integers(1, 34), min_size=1, max_size=8)


def seen(c: Completion) -> tuple[object, ...]:
    return c.ids, c.ended, c.text, c.thought, c.answer, c.tokens


@settings(max_examples=60, deadline=None)
@given(replies, budgets, st.sampled_from(["think", "nothink"]))
def test_any_order_of_budgets_equals_fresh_runs(reply: str, order: list[int], mode: str) -> None:
    async def check(folder: Path) -> None:
        bare = ScriptedEngine(lambda prompt: reply)
        with TraceStore.open(folder / "t.sqlite", bare.card.fingerprint) as store:
            counted = ScriptedEngine(lambda prompt: reply)
            engine = Remembering(counted, store)
            total = 0
            for budget in order:
                request = Request(Q, mode, budget, stage="s")  # type: ignore[arg-type]
                got = await complete(engine, request)
                assert seen(got) == seen(await complete(bare, request))
                total += got.generated
            longest = await complete(bare, Request(Q, mode, max(order), stage="s"))  # type: ignore[arg-type]
            assert counted.generated == longest.tokens == total
            assert store.contents().generated == total

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(Path(folder)))


def test_who_looks_something_up_does_not_wait_for_a_commit(tmp_path: Path) -> None:
    with TraceStore.open(tmp_path / "t.sqlite", "f") as store:
        asyncio.run(store.put("ab" * 32, Trace((1, 2), ended=True, limit=8)))
        store._recent.clear()
        with store._writing.mutex:  # as while a commit is under way
            found = store.get("ab" * 32)
            assert found is not None
            assert found.ids == (1, 2)
            assert store.get("cd" * 32) is None


def test_a_store_that_is_being_made_is_not_there_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, looked = tmp_path / "t.sqlite", []
    check = stores._check

    def looking(connection: sqlite3.Connection, at: Path, fingerprint: str | None, readonly: bool) -> None:
        if not readonly:
            # What another process is told at this moment.
            try:
                TraceStore.open(path, "f", readonly=True).close()
                looked.append("a store")
            except StoreError as err:
                looked.append(str(err).split(" at ")[0])
        check(connection, at, fingerprint, readonly)

    monkeypatch.setattr(stores, "_check", looking)
    TraceStore.open(path, "f").close()
    assert looked == ["no trace store", "a store"]
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".new"] == []


@settings(max_examples=20, deadline=None)
@given(budgets)
def test_flows_that_need_the_same_trace_wait_for_one_generation(order: list[int]) -> None:
    async def check(folder: Path) -> None:
        engine = ScriptedEngine(lambda prompt: "x" * 30, delay_s=0.001)
        with TraceStore.open(folder / "t.sqlite", "f") as store:
            remembering = Remembering(engine, store)
            await asyncio.gather(
                *(complete(remembering, Request(Q, "think", b, stage="s")) for b in sorted(order, reverse=True))
            )
        assert engine.generated == min(31, max(order))

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(Path(folder)))


async def test_samples_are_regenerated_not_continued(tmp_path: Path) -> None:
    engine = ScriptedEngine(lambda prompt: f"{len(prompt)}" + "x" * 30, sampled=True)
    drawn = Sampling(0.7, seed=3)
    with TraceStore.open(tmp_path / "t.sqlite", "f") as store:
        remembering = Remembering(engine, store)
        for budget in (4, 8, 4):
            await complete(remembering, Request(Q, "think", budget, stage="s", sampling=drawn))
        assert [limit for _, limit in engine.calls] == [4, 8]
        assert store.contents().generated == 12


async def test_a_restart_counts_tokens_once(tmp_path: Path) -> None:
    engine = ScriptedEngine(lambda prompt: "x" * 30)
    request = Request(Q, "think", 10, stage="s")
    with TraceStore.open(tmp_path / "t.sqlite", "f") as store:
        lost = await complete(Remembering(engine, store), request)
        again = await complete(Remembering(engine, store), request)
        assert again.claim is not None
        later = await complete(Remembering(engine, store, claimed=dict([again.claim])), request)
    assert (lost.generated, again.generated, later.generated) == (10, 10, 0)
    assert lost.origin == again.origin == "fresh"


async def test_online_never_cuts(tmp_path: Path) -> None:
    engine = ScriptedEngine(lambda prompt: "x" * 30)
    with TraceStore.open(tmp_path / "t.sqlite", "f") as store:
        remembering = Remembering(engine, store, online=True)
        for budget in (8, 4):
            await complete(remembering, Request(Q, "think", budget, stage="s"))
    assert [limit for _, limit in engine.calls] == [8, 4]


async def test_streaming_a_cut_and_a_continued_trace(tmp_path: Path) -> None:
    engine = ScriptedEngine(lambda prompt: "<think>" + "x" * 10 + "</think>5")
    with TraceStore.open(tmp_path / "t.sqlite", "f") as store:
        remembering = Remembering(engine, store)
        for budget in (6, 3, 30):
            shown: list[str] = []
            got = await complete(
                remembering, Request(Q, "think", budget, stage="s"), lambda d, shown=shown: shown.append(d.text)
            )
            assert "".join(shown) == (got.thought or "") + (got.answer or "")


async def test_an_answer_over_chat_from_an_earlier_store(tmp_path: Path) -> None:
    """Such a store calls the tokens a run produced `fresh`; they are told apart now as they were then."""
    engine = ScriptedEngine(lambda prompt: "x" * 30)
    prompt = Prompt(ids=None, tokens=3, body={"messages": []})
    with TraceStore.open(tmp_path / "t.sqlite", "f") as store:
        key = _with_budget(prompt.key(engine.card.fingerprint, GREEDY), 16)
        written = {"text": "7", "ended": True, "tokens": 5, "answer": "7", "fresh": 5, "claim": None, "extras": {}}
        await store.put_output(key, written, 5)
        remembering = Remembering(engine, store)
        found = [await remembering.generate(prompt, 16, GREEDY) for _ in range(2)]
    assert [(one.text, one.tokens, one.generated) for one in found] == [("7", 5, 5), ("7", 5, 0)]
    assert engine.calls == []


class TestStore:
    async def test_another_models_store_is_refused(self, tmp_path: Path) -> None:
        TraceStore.open(tmp_path / "t.sqlite", "one").close()
        with pytest.raises(StoreError, match=r"made by model one.*choose another --out"):
            TraceStore.open(tmp_path / "t.sqlite", "two")

    async def test_newer_version_is_refused(self, tmp_path: Path) -> None:
        store = TraceStore.open(tmp_path / "t.sqlite", "one")
        store._db.execute("update meta set value = '99' where name = 'schema'")
        store._db.commit()
        store.close()
        with pytest.raises(StoreError, match="trace format 99"):
            TraceStore.open(tmp_path / "t.sqlite", "one")

    async def test_a_store_of_the_first_format_is_read_and_written_on(self, tmp_path: Path) -> None:
        path, old, new = tmp_path / "t.sqlite", "aa" * 32, "bb" * 32
        small, large = (5, 6, 700), (5, 151_000, 7)
        made = sqlite3.connect(path)
        made.executescript(
            "create table meta (name text primary key, value text not null) without rowid;"
            "create table traces (key blob primary key, tokens int not null, ended int not null,"
            " limit_ int not null, generated int not null, segments text not null, ids blob not null,"
            " wall_s real not null) without rowid;"
            "create table outputs (key blob primary key, tokens int not null, body blob not null) without rowid;"
            "insert into meta values ('schema', '1'), ('fingerprint', 'one');"
        )
        for key, ids, kind in ((old, small, "H"), ("cc" * 32, large, "I")):
            blob = (b"2" if kind == "H" else b"4") + zlib.compress(array(kind, ids).tobytes(), 1)
            values = (bytes.fromhex(key), 3, 1, 64, 3, "[3]", blob, 0.5)
            made.execute("insert into traces values (?, ?, ?, ?, ?, ?, ?, ?)", values)
        made.commit()
        made.close()
        with TraceStore.open(path, "one", readonly=True) as store:
            assert store.get(old) == Trace(small, True, 64, 3, (3,))
        with TraceStore.open(path, "one") as store:
            await store.put(new, Trace(large, False, 3, 3, (3,)))
        with TraceStore.open(path, "one") as store:
            found = {key: trace.ids for key, trace in store.items()}
            assert found == {old: small, new: large, "cc" * 32: large}
            assert store.contents().traces == 3
            # An older thinkcap refuses it from now on: it would read three bytes an id as two.
            assert store._db.execute("select value from meta where name = 'schema'").fetchone() == ("3",)

    async def test_a_file_that_is_no_store(self, tmp_path: Path) -> None:
        (tmp_path / "t.sqlite").write_text("hello " * 100)
        with pytest.raises(StoreError, match=r"t\.sqlite"):
            TraceStore.open(tmp_path / "t.sqlite", "one")

    async def test_locked_by_another_run(self, tmp_path: Path) -> None:
        with (
            TraceStore.open(tmp_path / "t.sqlite", "one"),
            pytest.raises(StoreError, match="in use by another run"),
        ):
            TraceStore.open(tmp_path / "t.sqlite", "one")

    @pytest.mark.parametrize("ids", [(), (1, 2, 65535), (70000, 2**31)])
    async def test_ids_come_back(self, tmp_path: Path, ids: tuple[int, ...]) -> None:
        trace = Trace(ids, ended=True, limit=64, generated=5, segments=(1,))
        with TraceStore.open(tmp_path / "t.sqlite", "one") as store:
            await store.put("ab" * 32, trace)
        with TraceStore.open(tmp_path / "t.sqlite", "one") as store:
            assert store.get("ab" * 32) == trace
            assert store.get("cd" * 32) is None

    async def test_prune(self, tmp_path: Path) -> None:
        with TraceStore.open(tmp_path / "t.sqlite", "one") as store:
            await store.put("aa" * 32, Trace((1,), True, 4))
            await store.put("bb" * 32, Trace((1, 2, 3, 4), False, 4))
            assert await store.prune(unended=True) == 1
            assert [key for key, _ in store.items()] == ["aa" * 32]
