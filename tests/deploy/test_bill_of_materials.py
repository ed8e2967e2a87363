"""What `make audit` writes is a bill of materials that other tools read, and tells nothing of this machine."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from cyclonedx.model.bom import Bom

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from audit import write_bom  # noqa: E402


@pytest.mark.slow
def test_every_dependency_is_in_the_bill_of_materials(tmp_path: Path) -> None:
    write_bom(tmp_path / "bom.json")
    text = (tmp_path / "bom.json").read_text()
    found = Bom.from_json(json.loads(text))  # type: ignore[attr-defined]
    parts = {part.name.lower(): part for part in found.components}
    for name in ("aiohttp", "msgspec", "starlette"):
        assert parts[name].version == version(name)
    assert found.metadata.component.name == "thinkcap"
    assert str(ROOT) not in text
    assert "file://" not in text
