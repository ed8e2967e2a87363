"""Generations on disk, in SQLite: committed as each one ends, so that no finished token is ever lost.

One writer, group commits, ids compressed, a lock per store. A store belongs to one model; another model's or
a newer version's is refused.

    with TraceStore.open(path, fingerprint) as store:
        await store.put(key, trace)
        store.get(key)
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from thinkcap.core.errors import StoreError
from thinkcap.core.files import private_file
from thinkcap.core.recent import Recent
from thinkcap.traces.lock import FileLock
from thinkcap.traces.packing import LARGEST, inflated, pack, pack_scores, unpack, unpack_scores
from thinkcap.traces.trace import Trace

SCHEMA = 3
"""1 had two or four bytes an id and rows ordered by key, 2 no scores; both are read, and written on."""
_TABLES = """
create table if not exists meta (name text primary key, value text not null) without rowid;
create table if not exists traces (
    key blob primary key, tokens int not null, ended int not null, limit_ int not null,
    generated int not null, segments text not null, ids blob not null, wall_s real not null, scores blob
);
create table if not exists outputs (
    key blob primary key, tokens int not null, body blob not null
) without rowid;
"""
# Rows of kilobytes under random keys: in a tree ordered by key each would have a page to itself, half of it empty.
# `bench/store.py` prints what a layout gives.
_PAGE_BYTES = 8192
_KEPT_TOKENS = 4_000_000
"""Of traces in memory, some 36 bytes each: those of the questions that are worked on."""
_DAMAGE = (sqlite3.Error, zlib.error, ValueError, TypeError, AttributeError, OverflowError, RecursionError)
"""What SQLite, zlib and JSON raise where a stored value is not what was stored."""


@dataclass(frozen=True)
class Contents:
    """What a store holds, for people."""

    fingerprint: str
    traces: int
    ended: int
    tokens: int
    generated: int
    outputs: int
    bytes: int
    wall_s: float


class _Careful:
    """One at a time; a store that was damaged, or made to look like one, is refused in a sentence."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.mutex = threading.Lock()

    def __enter__(self) -> None:
        self.mutex.acquire()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.mutex.release()
        if isinstance(error, _DAMAGE):
            raise StoreError(
                f"'{self._path}' is damaged: {error}; restore it from a copy, or choose another --out"
            ) from error


class TraceStore:
    """Use `TraceStore.open`; reads are plain calls, writes are awaited until they are on disk."""

    def __init__(self, connection: sqlite3.Connection, path: Path, lock: FileLock | None) -> None:
        self._db = connection
        # Who looks something up does not wait for a commit: a reader of its own sees what is on disk meanwhile.
        self._reads = connection if lock is None else _connect(path, readonly=True)
        self._path = path
        self._lock = lock
        self._writing, self._reading = _Careful(path), _Careful(path)
        self._pending: list[tuple[str, tuple[Any, ...], asyncio.Future[None]]] = []
        self._flusher: asyncio.Task[None] | None = None
        self._recent: Recent[str, Trace] = Recent(_KEPT_TOKENS)
        scores = "scores" if _has_scores(connection) else "null"
        self._columns = f"ids, ended, limit_, generated, segments, wall_s, {scores}"

    @classmethod
    def open(cls, path: Path, fingerprint: str | None, *, readonly: bool = False) -> TraceStore:
        """A store for this model's traces. `fingerprint=None` takes whatever model it was made by."""
        if readonly and not path.is_file():
            raise StoreError(f"no trace store at '{path}'; wanted the traces.sqlite of a run")
        lock = None if readonly else FileLock.take(path)
        try:
            if not readonly and not path.exists():
                _create(path, fingerprint)
            connection = _connect(path, readonly)
            _check(connection, path, fingerprint, readonly)
            return cls(connection, path, lock)
        except BaseException:
            if lock:
                lock.release()
            raise

    def recent(self, key: str) -> Trace | None:
        """A trace that was written or read not long ago; for it nothing has to be looked up."""
        return self._recent.get(key)

    def get(self, key: str) -> Trace | None:
        if (known := self.recent(key)) is not None:
            return known
        with self._reading:
            row = self._reads.execute(
                f"select {self._columns} from traces where key = ?", (_blob(key),)
            ).fetchone()
            if row is None:
                return None
            ids, scores = unpack(row[0]), unpack_scores(row[6])
            if scores is not None and len(scores) > len(ids):
                raise ValueError(f"{len(scores)} scores for {len(ids)} tokens")
            # llama.cpp's server once left out the scores of a text it stopped at, somewhere in the middle: nobody
            # can tell now which tokens the others belong to, so the trace counts as one without scores.
            scores = None if scores is not None and len(scores) < len(ids) else scores
            segments = tuple(json.loads(row[4]))
            trace = Trace(ids, bool(row[1]), int(row[2]), int(row[3]), segments, row[5], scores)
        self._recent.keep(key, trace, len(trace.ids))
        return trace

    async def put(self, key: str, trace: Trace) -> None:
        await self._write(
            "insert or replace into traces values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                _blob(key),
                len(trace.ids),
                int(trace.ended),
                trace.limit,
                trace.generated,
                str(list(trace.segments)),
                pack(trace.ids),
                trace.wall_s,
                None if trace.scores is None else pack_scores(trace.scores),
            ),
        )
        self._recent.keep(key, trace, len(trace.ids))

    def get_output(self, key: str) -> dict[str, Any] | None:
        """What a chat transport gave, which cannot be cut: kept only so that a rerun need not ask again."""
        with self._reading:
            row = self._reads.execute("select body from outputs where key = ?", (_blob(key),)).fetchone()
            return None if row is None else dict(json.loads(inflated(row[0])))

    async def put_output(self, key: str, output: dict[str, Any], tokens: int) -> None:
        body = zlib.compress(json.dumps(output).encode(), 1)
        await self._write("insert or replace into outputs values (?, ?, ?)", (_blob(key), tokens, body))

    def contents(self) -> Contents:
        with self._reading:
            count, ended, tokens, generated, wall_s = self._reads.execute(
                "select count(*), coalesce(sum(ended), 0), coalesce(sum(tokens), 0),"
                " coalesce(sum(generated), 0), coalesce(sum(wall_s), 0) from traces"
            ).fetchone()
            outputs, output_tokens = self._reads.execute(
                "select count(*), coalesce(sum(tokens), 0) from outputs"
            ).fetchone()
            fingerprint = _meta(self._reads, "fingerprint") or ""
        return Contents(
            fingerprint,
            count,
            ended,
            tokens + output_tokens,
            generated + output_tokens,
            outputs,
            self._path.stat().st_size,
            wall_s,
        )

    def items(self) -> Iterator[tuple[str, Trace]]:
        with self._reading:
            keys = [row[0].hex() for row in self._reads.execute("select key from traces order by key")]
        for key in keys:
            trace = self.get(key)
            if trace is not None:
                yield key, trace

    async def prune(self, *, unended: bool = False, longer_than: int | None = None) -> int:
        """Remove traces: those whose model never ended its turn, or those above a length."""
        where, args = [], []
        if unended:
            where.append("ended = 0")
        if longer_than is not None:
            where.append("tokens > ?")
            args.append(longer_than)
        if not where:
            return 0
        with self._writing, self._db:
            gone = self._db.execute(f"delete from traces where {' and '.join(where)}", args).rowcount
        self._recent.clear()
        with self._writing:
            self._db.execute("vacuum")
        return gone

    async def _write(self, sql: str, values: tuple[Any, ...]) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pending.append((sql, values, done))
        if self._flusher is None or self._flusher.done():
            self._flusher = asyncio.ensure_future(self._flush())
        # Whoever stops waiting gives up the news, not the write.
        await done

    async def _flush(self) -> None:
        """All writes that came in while the last commit ran share the next one."""
        while self._pending:
            batch, self._pending = self._pending, []
            try:
                await asyncio.to_thread(self._commit, batch)
            except sqlite3.Error as err:
                failure = StoreError(
                    f"cannot write to '{self._path}': {err}; "
                    f"free some space or choose another --out, then run the same command again"
                )
                for _, _, done in batch:
                    if not done.done():
                        done.set_exception(failure)
                continue
            for _, _, done in batch:
                if not done.done():
                    done.set_result(None)

    def _commit(self, batch: list[tuple[str, tuple[Any, ...], asyncio.Future[None]]]) -> None:
        with self._writing.mutex, self._db:
            for sql, values, _ in batch:
                self._db.execute(sql, values)

    def close(self) -> None:
        self._reads.close()
        self._db.close()
        if self._lock:
            self._lock.release()

    def __enter__(self) -> TraceStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _create(path: Path, fingerprint: str | None) -> None:
    """A new store takes its place whole: others may look into it at any moment."""
    new = path.with_name(f"{path.name}.new")
    try:
        new.unlink(missing_ok=True)
        connection = _connect(new, readonly=False)
        try:
            _check(connection, new, fingerprint, readonly=False)
        finally:
            connection.close()
        os.replace(new, path)
    except OSError as err:
        raise _cannot_open(path, err) from err


def _connect(path: Path, readonly: bool) -> sqlite3.Connection:
    try:
        if readonly:
            # Beside a log SQLite keeps a file of its own even to read; where it may not, nobody writes either.
            how = "mode=ro" if os.access(path.parent, os.W_OK) else "mode=ro&immutable=1"
            connection = sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True, check_same_thread=False)
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
            return connection
        # SQLite gives the files it keeps beside a store the rights of the store.
        os.close(private_file(path, os.O_RDWR))
        connection = sqlite3.connect(path, check_same_thread=False)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
        connection.execute(f"pragma page_size = {_PAGE_BYTES}")
        # WAL: readers never wait, and a kill -9 loses at most what was not yet committed.
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        _only_tables(connection)
        connection.executescript(_TABLES)
        return connection
    except (sqlite3.Error, OSError) as err:
        raise _cannot_open(path, err) from err


def _cannot_open(path: Path, err: Exception) -> StoreError:
    return StoreError(f"cannot open '{path}' as a trace store: {err}; wanted a traces.sqlite written by thinkcap")


def _check(connection: sqlite3.Connection, path: Path, fingerprint: str | None, readonly: bool) -> None:
    try:
        _only_tables(connection)
        version = _meta(connection, "schema")
        if version is None and not readonly:
            with connection:
                connection.execute("insert into meta values ('schema', ?)", (str(SCHEMA),))
        elif version is None or int(version) > SCHEMA:
            raise StoreError(
                f"'{path}' has trace format {version}, this thinkcap reads up to {SCHEMA}; "
                f"update thinkcap or choose another --out"
            )
        elif int(version) < SCHEMA and not readonly:
            # Ids written from now on may be beyond what an older thinkcap reads.
            with connection:
                if not _has_scores(connection):
                    connection.execute("alter table traces add column scores blob")
                connection.execute("update meta set value = ? where name = 'schema'", (str(SCHEMA),))
        made_by = _meta(connection, "fingerprint")
        if made_by is None and fingerprint is not None and not readonly:
            with connection:
                connection.execute("insert into meta values ('fingerprint', ?)", (fingerprint,))
        elif None not in (made_by, fingerprint) and made_by != fingerprint:
            raise StoreError(
                f"the traces in '{path}' were made by model {str(made_by)[:24]}, this run uses "
                f"{str(fingerprint)[:24]}; choose another --out, or the model that made them"
            )
    except (sqlite3.DatabaseError, ValueError) as err:
        raise StoreError(f"'{path}' is not a trace store: {err}; choose another --out") from err


def _only_tables(connection: sqlite3.Connection) -> None:
    """A view or a trigger is a program, and may never end; a store has none."""
    for kind, name in connection.execute("select type, name from sqlite_schema where sql is not null"):
        if kind != "table" or name not in ("meta", "traces", "outputs"):
            raise sqlite3.DatabaseError(f"it has a {str(kind)[:20]} '{str(name)[:40]}', which no trace store has")


def _meta(connection: sqlite3.Connection, name: str) -> str | None:
    row = connection.execute("select value from meta where name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


def _has_scores(connection: sqlite3.Connection) -> bool:
    try:
        return any(row[1] == "scores" for row in connection.execute("pragma table_info(traces)"))
    except sqlite3.Error as err:
        raise StoreError(f"this is not a trace store: {err}; choose another --out") from err


def _blob(key: str) -> bytes:
    return bytes.fromhex(key)
