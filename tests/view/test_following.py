"""An unfinished run is followed: every row once, the last of a key, through a kill and a fresh start."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from thinkcap.core.errors import DataError
from thinkcap.report.explorer.page import content
from thinkcap.traces.lock import FileLock
from thinkcap.view.following import Following


@pytest.fixture
def journal(runs: Path, tmp_path: Path) -> tuple[Path, list[bytes]]:
    """A study of which nothing is there yet, and the lines that will come."""
    folder = tmp_path / "live"
    folder.mkdir()
    shutil.copy(runs / "first" / "study.toml", folder)
    (folder / "rows.jsonl").touch()
    return folder, (runs / "first" / "rows.jsonl").read_bytes().splitlines(keepends=True)


def append(folder: Path, *lines: bytes) -> None:
    with (folder / "rows.jsonl").open("ab") as file:
        file.write(b"".join(lines))


def codes(following: Following) -> dict[tuple[str, str], str]:
    news = following.news(0)["news"]
    return {(question, f"{policy}@{cap}"): letter for _, question, _, policy, cap, letter, _ in news}


def test_it_counts_what_the_finished_page_counts(runs: Path) -> None:
    following = Following(runs / "first")
    following.look()
    found, made = following.news(0), content(runs / "first").data
    assert (found["policies"], found["budgets"]) == (made["policies"], made["budgets"])
    assert found["cells"] == {"families": made["views"][0]["cells"]}
    assert found["state"] == "finished"
    listed = made["questions"]
    for (question, way), letter in codes(following).items():
        policy, _, cap = way.rpartition("@")
        q, p, b = (listed["id"].index(question), made["policies"].index(policy), made["budgets"].index(int(cap)))
        assert listed["codes"][q][p][b] == letter


def test_copies_of_a_seed_make_nothing_surer(journal: tuple[Path, list[bytes]]) -> None:
    folder, lines = journal
    append(folder, *lines)
    following = Following(folder)
    following.look()
    once = following.news(0)["cells"]
    append(folder, *(json.dumps(json.loads(line) | {"seed": 9}).encode() + b"\n" for line in lines))
    following.look()
    again = following.news(0)["cells"]
    assert any(once["families"].values())
    for policy, cells in once["families"].items():
        for one, two in zip(cells, again["families"][policy], strict=True):
            assert two[:2] == [2 * one[0], 2 * one[1]]
            assert two[2:5] == pytest.approx(one[2:5])


def test_nothing_is_read_twice(journal: tuple[Path, list[bytes]]) -> None:
    folder, lines = journal
    following = Following(folder)
    read: list[bytes] = []
    decode = following._decode

    def counted(line: bytes) -> Any:
        read.append(line + b"\n")
        return decode(line)

    following._decode = counted  # type: ignore[assignment]
    for start in range(0, 90, 30):
        append(folder, *lines[start : start + 30])
        following.look()
        following.look()
    assert read == lines[:90]
    first = following.news(0)
    assert len(first["news"]) == first["since"] == 90
    assert following.news(60)["news"] == first["news"][60:]


def test_a_kill_in_the_middle_of_a_row_and_the_way_on(journal: tuple[Path, list[bytes]]) -> None:
    folder, lines = journal
    following = Following(folder)
    lock = FileLock.take(folder / "rows.jsonl")
    append(folder, *lines[:10], lines[10][:40])
    following.look()
    assert (following.news(0)["rows"], following.standing()["state"]) == (10, "running")
    lock.release()
    assert following.standing()["state"] == "stopped"
    with (folder / "rows.jsonl").open("r+b") as file:
        file.truncate(sum(map(len, lines[:10])))
    append(folder, *lines[10:25])
    following.look()
    assert following.news(10)["news"][0][1] in lines[10].decode()
    assert following.news(0)["rows"] == 25


def test_the_last_row_of_a_key_counts(journal: tuple[Path, list[bytes]]) -> None:
    folder, lines = journal
    failed = next(line for line in lines if b'"failed":true' in line)
    good = next(line for line in lines if b'"failed":false' in line)
    again = failed.replace(b'"failed":true', b'"failed":false').replace(b'"verdict":null', b'"verdict":"right"')
    following = Following(folder)
    append(folder, good, failed)
    following.look()
    assert (following.standing()["rows"], following.standing()["failed"]) == (2, 1)
    append(folder, again)
    following.look()
    assert (following.standing()["rows"], following.standing()["failed"]) == (2, 0)


def test_a_journal_that_starts_anew_is_read_anew(journal: tuple[Path, list[bytes]]) -> None:
    folder, lines = journal
    following = Following(folder)
    append(folder, *lines[:20])
    following.look()
    (folder / "rows.jsonl").write_bytes(b"".join(lines[30:35]))
    following.look()
    assert following.news(20)["since"] == 5


def test_details_come_from_the_journal(journal: tuple[Path, list[bytes]]) -> None:
    folder, lines = journal
    following = Following(folder)
    append(folder, *lines[:120])
    following.look()
    found = following.details(0)
    assert len(found) == len({line.split(b'"question":"')[1].split(b'"')[0] for line in lines[:120]})
    assert any(cell for cells in found[0]["cells"] for cell in cells)


def test_a_line_of_something_else_is_refused_in_a_sentence(journal: tuple[Path, list[bytes]]) -> None:
    folder, _ = journal
    append(folder, b'{"some": "thing"}\n')
    with pytest.raises(DataError, match="not a row of this version"):
        Following(folder).look()
