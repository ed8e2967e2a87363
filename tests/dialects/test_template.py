"""A dialect is found by rendering: each template here sets one trap."""

from __future__ import annotations

import pytest
from templates import TEMPLATES

from thinkcap.core.errors import DataError
from thinkcap.dialects import of_template


@pytest.mark.parametrize("name", TEMPLATES)
def test_template_is_read(name: str) -> None:
    source, wanted = TEMPLATES[name]
    found = of_template(source)
    assert {key: getattr(found, key) for key in wanted} == wanted
    assert found.found_by == "template"


def test_a_broken_template_is_one_line() -> None:
    with pytest.raises(DataError, match="cannot be parsed"):
        of_template("{% if %}")
