"""Fresh questions from the bundled families: as many as wanted, the same ones for the same seed.

load("family:arithmetic", limit=50, seed=7); load("families", limit=200)
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

from thinkcap.core.errors import ConfigError
from thinkcap.core.types import Kind
from thinkcap.tasks.families import questions
from thinkcap.tasks.task import Item, Source, asked, content_hash

_DEFAULT = 200
_SAMPLE = 20
"""The set has no end; its hash is taken from its first questions, so that it does not depend on the limit."""
_KINDS: dict[str, Kind] = {"number": "number", "math": "math", "label": "label"}


def read(variant: str, data: Path | None, seed: int | None, needed: int | None) -> Source:
    """The first questions of a seed; a smaller limit gives a prefix of a larger one."""
    family = variant or "mix"
    count = _DEFAULT if needed is None else needed
    if count > 1_000_000:
        raise ConfigError(f"{count} questions of family '{family}' are too many; wanted a million at most")
    made = questions(family, max(count, _SAMPLE), seed or 0)
    problems = made[:count]
    items = [
        Item(
            asked(f"{family}/{seed or 0}/{i}", p.question, _KINDS[p.kind], form=p.form, group=p.family),
            p.answer,
            MappingProxyType({"difficulty": str(p.difficulty), "family": p.family}),
        )
        for i, p in enumerate(problems)
    ]
    name = "families" if family == "mix" else f"family:{family}"
    return Source(name, tuple(items), content_hash((p.question, p.answer) for p in made[:_SAMPLE]))
