"""Files and templates of strangers: bounded work, one sentence, no traceback."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest

from thinkcap.allocate.features import NAMES
from thinkcap.allocate.file import Allocation
from thinkcap.calibrate.profile import Profile
from thinkcap.core.errors import ConfigError, DataError, StoreError
from thinkcap.dialects import bounded
from thinkcap.dialects.rendering import Template, user
from thinkcap.report.tables.render import as_csv, markdown
from thinkcap.report.tables.table import Column, Table, TableRow
from thinkcap.traces.exchange import FORMAT, import_jsonl
from thinkcap.traces.store import TraceStore
from thinkcap.traces.trace import Trace

LAUGHS = "{% set ns = namespace(x=['ab']) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}"
DOUBLED = "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = OP %}{% endfor %}"
TEMPLATES = [
    "{{ 'a' * 10**9 }}",
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "{% for i in range(99999) %}{% for j in range(99999) if false %}{% endfor %}{% endfor %}",
    DOUBLED.replace("OP", "ns.x ~ ns.x"),
    DOUBLED.replace("OP", "ns.x + ns.x"),
    DOUBLED.replace("OP", "ns.x.replace('', ns.x)"),
    LAUGHS + "{{ ns.x }}",
    LAUGHS + "{{ ns.x|tojson }}",
    "{% macro f(n) %}{% if n > 0 %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "{{ 99999 ** 99999 }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '{:200000000}'.format(1) }}",
    "{{ '{:{w}}'.format(1, w=200000000) }}",
    "{{ 'a'|center(1000000000) }}",
    "{{ 'a'.center(1000000000) }}",
]
NUMBERS = {"features": list(NAMES), "budgets": [0, 64], "mean": [0] * len(NAMES), "scale": [1] * len(NAMES)}
CIRCLE = {"start": [0, 0], "rate": 1, "trees": [[[[0, 0, 0, 0, 0]], [[0, 0, 0, 0, 0]]]]}
CAPS = '"caps": [{"at_least": 1, "policy": "think"}]'


@pytest.mark.parametrize("source", TEMPLATES)
def test_a_template_that_never_ends_is_ended(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A tenth of the steps that the product allows: they end it as well, in a tenth of the time.
    monkeypatch.setattr(bounded, "_STEPS", 100_000)
    assert Template(source).render([user("Hi")]) is None


@pytest.mark.parametrize("source", ["{% for a in b %}" * 30 + "{% endfor %}" * 30, "{{ " + "9" * 5000 + " }}"])
def test_a_template_python_cannot_compile_is_refused(source: str) -> None:
    with pytest.raises(DataError):
        Template(source)


@pytest.mark.parametrize(
    "text",
    [
        'model = "m"\nlevel = "high"\ncap = []',
        'model = "m"\nlevel = ' + "9" * 5000,
        'model = "m"\ncap = ' + "[" * 5000 + "]" * 5000,
        'model = "m"\ncap = [1]',
        'model = "m"\n[[cap]]\nat_least = 1\npolicy = 7',
        'model = "m"\n[[cap]]\nat_least = 1\npolicy = "os:system"',
    ],
)
def test_a_hostile_profile_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(ConfigError):
        Profile.from_file(tmp_path / "p.toml")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"caps": ' + "9" * 5000 + "}",
        f'{{{CAPS}, "about": 7}}',
        f'{{{CAPS}, "stop": {{"checkpoints": [1e400], "rules": []}}}}',
        f'{{{CAPS}, "stop": [1]}}',
        f'{{{CAPS}, "allocator": {json.dumps({**NUMBERS, "kind": "boosting", "parameters": CIRCLE})}}}',
        f'{{{CAPS}, "allocator": {json.dumps({**NUMBERS, "kind": "mlp", "parameters": {"layers": 3}})}}}',
    ],
)
def test_a_hostile_allocation_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ConfigError):
        Allocation.from_file(tmp_path / "a.json")


GOOD = {"key": "aa", "ids": [1], "ended": True, "limit": 4, "generated": 1, "segments": []}


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        "9" * 5000,
        *(
            json.dumps({**GOOD, **change})
            for change in ({"ids": [-1]}, {"ids": [2**40]}, {"limit": 2**80}, {"key": "x"}, {"segments": ["a"]})
        ),
        json.dumps(GOOD).replace("4", "1e400"),
    ],
)
def test_a_hostile_trace_is_one_sentence(tmp_path: Path, line: str) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"format": FORMAT, "fingerprint": "f"}) + "\n" + line + "\n")
    with pytest.raises(DataError):
        asyncio.run(import_jsonl(tmp_path, tmp_path / "in.jsonl"))


@pytest.mark.parametrize("change", ["ids = x'3200'", "segments = '{'", "limit_ = 'many'", "ids = 7"])
def test_a_half_corrupt_store_is_one_sentence(tmp_path: Path, change: str) -> None:
    path = tmp_path / "traces.sqlite"
    with TraceStore.open(path, "f") as store:
        asyncio.run(store.put("aa", Trace((1, 2), True, 4)))
    with sqlite3.connect(path) as db:
        db.execute(f"update traces set {change}")
    with TraceStore.open(path, "f", readonly=True) as store, pytest.raises(StoreError, match="damaged"):
        store.get("aa")


def test_tables_hold_no_formula_and_no_escape() -> None:
    table = Table("t", "T", (Column("name", "text"),), (TableRow(("=cmd|'/c calc'!A0",)), TableRow(("\x1b[2Jm",))))
    assert as_csv(table).splitlines()[1].lstrip('"').startswith("'=")
    assert "\x1b" not in as_csv(table) + markdown(table)
