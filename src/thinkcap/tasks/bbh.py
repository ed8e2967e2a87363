"""Five tasks of BIG-Bench Hard, answered by an option letter, True/False or Yes/No.

load("bbh:date_understanding", data=Path("data"))     # data/bbh/date_understanding.json
"""

from __future__ import annotations

from pathlib import Path

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.core.names import nearest
from thinkcap.tasks.files import Pinned, checked, rows
from thinkcap.tasks.task import Item, Source, asked

# name: (count, hash of questions and golds, answer form)
PARTS: dict[str, tuple[int, str, str]] = {
    "boolean_expressions": (250, "b35ee0c1c4665280796c46b73aa8ef481d7e3857ac9bf191c49fa9cab3a1c805", "truth"),
    "causal_judgement": (187, "777412aff5a81a7542419e77c630554933ba29306ecbd889287e40eff2c48927", "yesno"),
    "date_understanding": (250, "ce9cf49061b3482e24ee3fbfbc80365bc03e5033ba54acd72ef2d15203fa97a3", "label"),
    "logical_deduction_five_objects": (
        250,
        "6a9c5586afa34d761869546ae93fc814f657571048adcdc0b98a69e0cbb59c90",
        "label",
    ),
    "tracking_shuffled_objects_three_objects": (
        250,
        "801958bc538a1f0af5ddb5a4dfb99518e67f94a458e460ffb64583cd8e6d6853",
        "label",
    ),
}


def pinned(part: str) -> Pinned:
    if part not in PARTS:
        raise ConfigError(f"unknown bbh task '{part}'{nearest(part, PARTS)}")
    return Pinned(
        name=f"BBH {part}",
        paths=(f"bbh/{part}.json", f"{part}.json"),
        count=PARTS[part][0],
        content=PARTS[part][1],
        hub="lukaemon/bbh",
        hub_file=f"{part}/test-00000-of-00001.parquet",
        # Whatever the branch holds, the hash above decides whether it is the published set.
        revision="main",
    )


def read(variant: str, data: Path | None, seed: int | None, needed: int | None) -> Source:
    if not variant:
        raise ConfigError(f"bbh is five tasks; name one: {', '.join('bbh:' + part for part in PARTS)}")
    pin = pinned(variant)
    try:
        pairs = [(row["input"], row["target"]) for row in rows(pin, data)]
    except (KeyError, TypeError) as err:
        raise DataError(f"a BBH record has 'input' and 'target'; {err} is missing in this file") from err
    digest = checked(pin, pairs)
    form = PARTS[variant][2]
    items = [Item(asked(f"{variant}/{i}", q, "label", form=form), gold) for i, (q, gold) in enumerate(pairs)]
    return Source(f"bbh:{variant}", tuple(items), digest)
