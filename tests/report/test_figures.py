"""Figures: each drawn from findings, or a plain word on what is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from thinkcap.core.errors import ConfigError
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.report import figures
from thinkcap.report.figures import NAMES, subjects, write
from thinkcap.report.figures.lengths import hazard as draw_hazard
from thinkcap.report.material import load
from thinkcap.statistics.hazard import hazard


def test_every_figure_is_drawn_as_svg_and_png(run: Path, tmp_path: Path) -> None:
    material = load([run])
    drawn_of = subjects(material, diagnose(material.records, draws=100))
    for name in NAMES:
        (drawn,) = write(name, drawn_of, tmp_path)
        assert drawn.missing == "", name
        svg, png = drawn.files
        assert svg.read_text().lstrip().startswith("<?xml")
        assert png.read_bytes().startswith(b"\x89PNG")
        assert png.stat().st_size > 5000, name


def test_what_is_missing_is_said(other_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "save", lambda figure, stem: [])
    material = load([other_run])
    drawn_of = subjects(material, diagnose(material.records, draws=100))
    missing = {name: write(name, drawn_of, tmp_path)[0].missing for name in NAMES}
    assert {n for n, why in missing.items() if why} == {"recovered", "pareto-money", "cascade", "agreement"}
    assert "--price" in missing["pareto-money"]


def test_the_same_records_give_the_same_picture(other_run: Path, tmp_path: Path) -> None:
    material = load([other_run])
    drawn_of = subjects(material, diagnose(material.records, draws=100))
    first, second = (write("survival", drawn_of, tmp_path / name)[0].files for name in "ab")
    assert [f.read_bytes() for f in first] == [f.read_bytes() for f in second]


def test_few_chains_do_not_set_the_scale_of_the_hazard(run: Path) -> None:
    material = load([run])
    (subject,) = subjects(material, diagnose(material.records, draws=0))
    assert subject.found.lengths is not None
    # Two well known bins, then one chain that ends at the very token its bin is wide: a rate of 1.
    lengths = np.array([100] * 50 + [200] * 50 + [300])
    rate = hazard(lengths, np.ones(101, bool), [1, 101, 201, 300, 301])
    found = replace(subject.found, lengths=replace(subject.found.lengths, hazard=rate))
    axes = draw_hazard(replace(subject, found=found)).axes[0]
    top = axes.get_ylim()[1]
    assert top == pytest.approx(100 * rate.ceiling)
    assert top < 5
    assert [text.get_text() for text in axes.texts] == ["100 (1 left)"]
    assert "fewer than 10 chains left" in axes.get_legend_handles_labels()[1]


def test_unknown_figure(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="survival"):
        write("survivel", [], tmp_path)


def test_figures_of_the_authors_records(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data" / "authors"
    files = [*folder.glob("results_kun/nothink_fullset/*.json"), *folder.glob("results_kun/thinking_hf/*/*.json")]
    material = load(sorted(files))
    drawn_of = subjects(material, diagnose(material.records, draws=100))
    made = [
        d for name in ("accuracy", "survival", "tiers", "tax-by-model") for d in write(name, drawn_of, tmp_path)
    ]
    assert sum(bool(d.files) for d in made) >= 6
