"""Heavy and rarely used packages are extras; whoever needs a missing one is told the command that installs it.

with extra("figures", "drawing a figure"):
    from matplotlib.figure import Figure
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from thinkcap.core.errors import ConfigError


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Imports in here may miss a package of this extra."""
    try:
        yield
    except ModuleNotFoundError as err:
        raise ConfigError(
            f"{what} needs '{err.name}', which is not installed; run: pip install 'thinkcap[{name}]'"
        ) from err
