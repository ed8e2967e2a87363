"""Seconds each answer took to write, beside the rows: a clock inside them would make two equal runs differ.

An answer's time is that of its calls together; a chain that was cut counts by its share of the tokens.
`times.parquet` has the rows of `rows.parquet` in their order; no time where a killed run lost it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from thinkcap.core.errors import DataError
from thinkcap.core.files import replacing
from thinkcap.statistics.arrays import Floats
from thinkcap.study.columns import read_columns
from thinkcap.study.plan import MISSING, StudyPlan

FILE = "times.parquet"
KEYS = ("task", "question", "policy", "budget", "seed")
_TEXTS = KEYS[:3]
NUMBERS = KEYS[3:]


def read_times(folder: Path, plan: StudyPlan) -> Floats:
    """What an earlier part of the run took, by place in the plan; nan where that is not known, for it only costs
    a column."""
    seconds = np.full(len(plan), np.nan)
    try:
        columns = read_columns(folder / FILE, (*KEYS, "wall_s"))
        texts = [columns.text(name) for name in _TEXTS]
        keys = [*(text.codes for text in texts), *(columns.number(name).astype(np.int64) for name in NUMBERS)]
        places = plan.places(keys, [text.texts for text in texts])
        known = places != MISSING
        seconds[places[known]] = columns.number("wall_s").astype(np.float64)[known]
    except (DataError, ValueError):
        pass
    return seconds


def write_times(folder: Path, plan: StudyPlan, seconds: Floats) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    each = np.tile(np.arange(len(plan.asked)), len(plan.ways))
    way = np.repeat(np.arange(len(plan.ways)), len(plan.asked))
    columns = {
        "task": pa.array([a.task.name for a in plan.asked]).take(each),
        "question": pa.array([a.question.id for a in plan.asked]).take(each),
        "policy": pa.array([spec.label for spec, _ in plan.ways]).take(way),
        "budget": pa.array([budget for _, budget in plan.ways]).take(way),
        "seed": pa.array([a.seed for a in plan.asked]).take(each),
        "wall_s": pa.array(seconds, mask=np.isnan(seconds)),
    }
    with replacing(folder / FILE) as file:
        pq.write_table(pa.table(columns), file, compression="zstd")
