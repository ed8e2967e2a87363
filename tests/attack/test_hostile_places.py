"""What another user may lay in the way of files we write, and what a killed writer leaves behind."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from patience import PATIENCE_S
from thinkcap.core.errors import StoreError
from thinkcap.core.files import SHARED, private_file, replace_text, replacing
from thinkcap.traces.exchange import export_jsonl
from thinkcap.traces.store import TraceStore

OTHER_USER = 65534


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    found = tmp_path / "victim"
    found.write_text("precious")
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As /tmp: anybody may add names, nobody may remove another's."""
    found = tmp_path / "shared"
    found.mkdir()
    found.chmod(0o1777)
    return found


def link(at: Path, victim: Path) -> None:
    at.symlink_to(victim)


def hard_link(at: Path, victim: Path) -> None:
    os.link(victim, at)


def dangling(at: Path, victim: Path) -> None:
    at.symlink_to(victim.with_name("made-by-following"))


@pytest.mark.parametrize("lay", [link, hard_link, dangling])
@pytest.mark.parametrize("mode", [0o600, SHARED])
def test_a_link_in_the_way_is_replaced_not_followed(
    folder: Path, victim: Path, lay: Callable[[Path, Path], None], mode: int
) -> None:
    target = folder / "out.json"
    lay(target, victim)
    replace_text(target, "ours", mode)
    assert victim.read_text() == "precious"
    assert not victim.with_name("made-by-following").exists()
    assert not target.is_symlink()
    assert target.read_text() == "ours"


@pytest.mark.parametrize("what", ["fifo", "folder", "link to a device", "link to a folder"])
def test_what_is_no_plain_file_is_refused_at_once(folder: Path, what: str) -> None:
    target = folder / "out.json"
    if what == "fifo":
        os.mkfifo(target)
    elif what == "folder":
        target.mkdir()
    else:
        target.symlink_to("/dev/null" if what.endswith("device") else folder)
    with pytest.raises(StoreError, match="plain file"):
        replace_text(target, "ours")
    assert list(folder.iterdir()) == [target]
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("lay", [link, hard_link, dangling])
def test_a_journal_is_not_continued_in_anothers_file(
    folder: Path, victim: Path, lay: Callable[[Path, Path], None]
) -> None:
    journal = folder / "rows.jsonl"
    lay(journal, victim)
    with pytest.raises(StoreError):
        private_file(journal, os.O_WRONLY | os.O_APPEND)
    assert victim.read_text() == "precious"


@pytest.mark.timeout(PATIENCE_S)
def test_a_journal_that_is_a_pipe_is_refused_without_waiting(folder: Path) -> None:
    os.mkfifo(folder / "rows.jsonl")
    for flags in (os.O_WRONLY | os.O_APPEND, os.O_RDWR):
        with pytest.raises(StoreError):
            private_file(folder / "rows.jsonl", flags)


def test_another_who_lays_links_as_fast_as_they_go_changes_nothing(folder: Path, victim: Path) -> None:
    """As another user, where the tests run as root."""
    target = folder / "report.html"
    names = ["report.html", "report.tmp", "report.html.tmp", ".report.html.tmp", ".report.html.0.tmp"]

    other = os.fork()
    if other == 0:
        if os.geteuid() == 0:
            os.setegid(OTHER_USER)
            os.seteuid(OTHER_USER)
        while True:
            for name in names:
                try:
                    os.symlink(victim, folder / name)
                except OSError:
                    pass
    try:
        for turn in range(200):
            replace_text(target, f"ours {turn}")
            target.unlink(missing_ok=True)
        replace_text(target, "ours at last")
    finally:
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)
    assert victim.read_text() == "precious"
    assert target.read_text() == "ours at last" or target.is_symlink()


def test_what_a_killed_writer_left_is_gone_after_the_next_write(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from thinkcap.core.files import replacing\n"
        "with replacing(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); print('writing', flush=True); time.sleep(600)\n"
    )
    target = tmp_path / "summary.json"
    target.write_text("before")
    writer = subprocess.Popen([sys.executable, "-c", program, str(target)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    writer.stdout.readline()
    (half,) = tmp_path.glob(".summary.json.*.tmp")
    os.utime(half, (1, 1))
    replace_text(target, "beside a living writer")
    assert half.exists(), "what somebody is writing was taken away"
    writer.kill()
    writer.wait()
    writer.stdout.close()
    assert target.read_text() == "beside a living writer"
    replace_text(target, "after")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["summary.json"]


def test_names_that_only_look_like_leftovers_stay(tmp_path: Path) -> None:
    fresh, other = tmp_path / ".out.json.0.tmp", tmp_path / ".out.jsonl.0.tmp"
    for one in (fresh, other):
        one.write_text("x")
    os.utime(other, (1, 1))
    replace_text(tmp_path / "out.json", "y")
    assert fresh.exists()
    assert other.exists()


def test_who_may_read_what_we_write(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with replacing(tmp_path / "run.json") as file:
            file.write(b"x")
        replace_text(tmp_path / "profile.toml", "x", SHARED)
        with TraceStore.open(tmp_path / "traces.sqlite", "f"):
            pass
        export_jsonl(tmp_path, tmp_path / "out.jsonl")
    finally:
        os.umask(before)
    rights = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    assert rights["profile.toml"] == 0o644
    assert {rights[name] for name in ("run.json", "traces.sqlite", "out.jsonl")} == {0o600}


def test_no_file_is_written_past_the_one_door() -> None:
    """Every file is written by core/files.py; sockets, databases and worker pipes are none."""
    sources = Path(__file__).parents[2] / "src" / "thinkcap"
    past = [
        f"{path.relative_to(sources)}:{number}"
        for path in sources.rglob("*.py")
        if path.name != "files.py" or path.parent.name != "core"
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if any(word in line for word in (".write_text(", ".write_bytes(", '.open("w', '.open("a', "savefig(path"))
        and not line.lstrip().startswith(("Path(", "#"))
    ]
    assert past == []
