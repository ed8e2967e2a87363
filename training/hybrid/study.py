"""Runs thinkcap's own studies on a model of this folder, one after the other, each for a limited time.

    python -m training.hybrid.study out/hybrid training/hybrid/gsm8k.toml training/hybrid/math500.toml \
        --data data --out out/runs

A study that was stopped goes on where it was when it is run again. What is kept of it in the repository is made by
`python -m training.hybrid.keep`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path

from thinkcap.core.engine import Engine
from thinkcap.engines import open_engine
from thinkcap.study.config import StudyConfig
from thinkcap.study.plan import plan
from thinkcap.study.provenance import provenance
from thinkcap.study.run import Progress, run


class Told:
    """A line every few seconds, so that a run that is watched from afar says how it is going."""

    def __init__(self, name: str, every_s: float = 15.0) -> None:
        self._name, self._every_s = name, every_s
        self._said = time.monotonic()
        self.last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        self.last = progress
        if time.monotonic() - self._said >= self._every_s:
            self._said = time.monotonic()
            print(self.line(), flush=True)

    def line(self) -> str:
        if self.last is None:
            return f"{self._name}: nothing was left to do"
        seconds = time.monotonic() - self.last.started
        speed = self.last.tokens / max(seconds, 1e-9)
        return (
            f"{self._name}: {self.last.done:,} of {self.last.total:,} rows ({self.last.failed} failed), "
            f"{self.last.tokens:,} tokens in {seconds:.0f} s: {speed:,.0f} tokens/s"
        )


async def study(engine: Engine, config: StudyConfig, name: str, limit_s: float) -> bool:
    """Whether it came to its end."""
    told = Told(name)
    about = provenance(config, engine.card, plan(config), started=time.time(), concurrency=engine.card.concurrency)
    config.folder.mkdir(parents=True, exist_ok=True)
    (config.folder / "provenance.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    try:
        await asyncio.wait_for(run(config, engine=engine, watch=told), limit_s)
    except TimeoutError:
        print(f"{told.line()}; stopped at the limit", flush=True)
        return False
    except ModuleNotFoundError as err:
        # Rows are in the journal already; columns and charts can be made of them anywhere.
        print(f"{told.line()}; {err.name} is not here, so the rows stay as they are", flush=True)
        return True
    print(told.line(), flush=True)
    return True


async def studies(args: argparse.Namespace) -> None:
    engine = await open_engine(str(args.model), concurrency=args.lanes)
    deadline = time.monotonic() + args.limit_s
    try:
        for path in args.studies:
            asked = StudyConfig.from_file(path)
            config = replace(
                asked,
                model=args.model.name,
                data=args.data,
                # By task, not by file: a second study of the same questions goes on with the first one's chains.
                out=args.out / "+".join(Path(task).stem for task in asked.tasks),
                # More flows than lanes: some wait for the grader or for a trace that another one is writing.
                concurrency=args.lanes + args.lanes // 2,
            )
            config = replace(config, limit=args.limit) if args.limit else config
            await study(engine, config, path.stem, max(1.0, deadline - time.monotonic()))
    finally:
        await engine.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("studies", type=Path, nargs="+")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--lanes", type=int, default=512)
    parser.add_argument("--limit", type=int, default=0, help="Questions at most; 0: as the study says.")
    parser.add_argument("--limit-s", type=float, default=540.0)
    asyncio.run(studies(parser.parse_args()))


if __name__ == "__main__":
    main()
