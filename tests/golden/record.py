"""Record what users see, over HTTP, on the command line and in Python, into the files of this folder.

    make golden                       # or: PYTHONPATH=src:tests python -m golden.record [NAME ...]

The files in `http/` and `cli/` hold requests and outcomes side by side. A person writes the request. This program
runs it again and rewrites the outcome. To cover more, add a request and run `make golden`. `help.txt` and the rows
of studies (`cli/*.rows.jsonl`) are outcomes only. Events of a stream that differ only in a piece of text are
stored as one event with the number of `pieces`.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet

from golden import upstream
from golden.commands import CommandLine, Outcome
from golden.gateways import exchange, gateway
from golden.normalise import Normaliser, dump

HERE = Path(__file__).parent
DURATIONS = frozenset({"wall_s", "first_s", "seconds", "at"})
_OUTCOMES = ("status", "headers_back", "reply", "exit", "stdout", "stderr", "files")
_COMMAND = re.compile(r"^  (\w+)  +\S", re.MULTILINE)
_EMBEDDED = re.compile(r'<script type="application/json" id="(\w+)">(.*?)</script>', re.DOTALL)


class Recorder:
    """Runs what the files of this folder ask for; servers start when the first request needs them."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        self._gateways: dict[str, str] = {}
        self._upstreams: dict[str, str] = {}
        self._line: CommandLine | None = None

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def record(self, name: str) -> Iterator[tuple[str, str]]:
        """File names and their new texts."""
        if name == "help":
            yield "help.txt", self._helps()
            return
        entries = json.loads((HERE / f"{name}.json").read_text())
        rows: dict[str, str] = {}
        if name.startswith("http/"):
            entries = [self._exchanged(entry) for entry in entries]
        else:
            folder = self._folder / name.replace("/", "-")
            shutil.copytree(HERE / "inputs", folder)
            entries = [self._ran(entry, folder, rows) for entry in entries]
        yield f"{name}.json", dump(entries) + "\n"
        for text in rows.values():
            yield f"{name}.rows.jsonl", text

    def _exchanged(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        request = {key: value for key, value in entry.items() if key not in _OUTCOMES}
        found = exchange(self._gateway(entry["gateway"]), request, self._normaliser())
        return {**request, "status": found["status"], "headers_back": found["headers"], "reply": found["reply"]}

    def _ran(self, entry: Mapping[str, Any], folder: Path, rows: dict[str, str]) -> dict[str, Any]:
        """One command line; `CHAT_SERVER` in it is the address of a scripted server."""
        asked = {key: value for key, value in entry.items() if key not in _OUTCOMES}
        words = [self._placed(word) for word in entry.get("command") or ["-c", *entry["python"]]]
        outcome = self._run(folder, *words)
        normaliser = self._normaliser(folder)
        found = {**asked, "exit": outcome.exit}
        for stream in ("stdout", "stderr"):
            if text := getattr(outcome, stream):
                found[stream] = _readable(text, normaliser)
        if "folder" in entry:
            run = folder / entry["folder"]
            found["files"] = dict(_files(run, normaliser))
            lines = sorted(normaliser.text(line) for line in (run / "rows.jsonl").read_text().splitlines())
            rows[entry["folder"]] = "\n".join(lines) + "\n"
        return found

    def _run(self, folder: Path, *words: str) -> Outcome:
        if self._line is None:
            self._line = CommandLine(self._folder)
            self._stack.callback(self._line.close)
        return self._line.run(folder, *words)

    def _helps(self) -> str:
        """`--help` of the program, of every command, and of every command below it."""
        normaliser, pages, todo = self._normaliser(), [], [()]
        while todo:
            words: tuple[str, ...] = todo.pop(0)
            text = self._run(self._folder, *words, "--help").stdout
            pages.append(f"$ thinkcap {' '.join([*words, '--help'])}\n{normaliser.text(text)}")
            _, listed, below = text.partition("\nCommands:\n")
            todo += [(*words, name) for name in _COMMAND.findall(below)] if listed else []
        return "\n".join(pages)

    def _gateway(self, name: str) -> str:
        if name not in self._gateways:
            settings = json.loads((HERE / "gateways.json").read_text())[name]
            folder = self._folder / f"gateway-{name}"
            folder.mkdir()
            running = gateway(folder, json.loads(self._placed(json.dumps(settings))))
            self._gateways[name] = self._stack.enter_context(running)
        return self._gateways[name]

    def _placed(self, text: str) -> str:
        """Addresses of scripted servers for `CHAT_SERVER` and the like; a server starts if it is named."""
        for kind in ("chat", "vllm", "llama"):
            name = f"{kind.upper()}_SERVER"
            if name in text and kind not in self._upstreams:
                self._upstreams[kind] = self._stack.enter_context(upstream.running(kind))
            text = text.replace(name, self._upstreams.get(kind, ""))
        return text

    def _normaliser(self, folder: Path | None = None) -> Normaliser:
        own = {str(folder): "WORK"} if folder else {}
        return Normaliser({**own, str(self._folder): "WORK", str(HERE.parents[1]): "REPOSITORY"}, DURATIONS)


def names() -> list[str]:
    """What can be recorded on its own."""
    found = [path for kind in ("http", "cli") for path in (HERE / kind).glob("*.json")]
    return ["help", *sorted(str(path.relative_to(HERE).with_suffix("")) for path in found)]


def _readable(text: str, normaliser: Normaliser) -> Any:
    """JSON as such, other text as a list of lines."""
    try:
        value = json.loads(text)
    except ValueError:
        return normaliser.text(text).rstrip("\n").split("\n")
    return normaliser.value(value)


def _files(run: Path, normaliser: Normaliser) -> Iterator[tuple[str, Any]]:
    """What a study wrote, by file; of tables the columns, of the report the keys of its embedded data."""
    for path in sorted(run.iterdir()):
        match path.suffix:
            case ".json":
                yield path.name, normaliser.value(json.loads(path.read_text()))
            case ".toml":
                yield path.name, normaliser.value(tomllib.loads(path.read_text()))
            case ".parquet":
                schema = pyarrow.parquet.read_schema(path)
                yield path.name, [f"{field.name}: {field.type}" for field in schema]
            case ".html":
                embedded = dict(_EMBEDDED.findall(path.read_text()))
                yield path.name, {name: sorted(set(_keys(json.loads(data)))) for name, data in embedded.items()}
            case ".jsonl" if path.name != "rows.jsonl":
                lines = [normaliser.value(json.loads(line)) for line in sorted(path.read_text().splitlines())]
                yield path.name, lines
            case _:
                yield path.name, "..."


def _keys(value: Any, path: str = "") -> Iterator[str]:
    """Paths of keys in a document; lists and numbered keys count as one key `*`."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _keys(item, f"{path}.{'*' if key.isdigit() else key}")
    elif isinstance(value, list) and any(isinstance(item, list | dict) for item in value):
        for item in value:
            yield from _keys(item, f"{path}.*")
    else:
        yield path.removeprefix(".")


def main() -> None:
    with Recorder() as recorder:
        for name in sys.argv[1:] or names():
            for file, text in recorder.record(name):
                (HERE / file).write_text(text)
                print(f"recorded {file}")


if __name__ == "__main__":
    main()
