"""What a figure is drawn of: one model on one task, with its findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thinkcap.core.errors import DataError
from thinkcap.core.types import EMPTY
from thinkcap.diagnose.findings import Findings
from thinkcap.report.tables.select import ModelTask


class NotDrawn(DataError):
    """The records lack what the figure shows; the message says what."""


@dataclass(frozen=True)
class Subject:
    found: Findings
    group: ModelTask
    cost: Mapping[tuple[str, int], float] = EMPTY  # type: ignore[assignment]
    """Mean money per question by policy and budget, where a price was given."""

    @property
    def title(self) -> str:
        return f"{self.found.model or 'unnamed model'}, {self.found.task or 'unnamed task'}"
