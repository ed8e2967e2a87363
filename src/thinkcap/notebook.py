"""What a notebook can do that a terminal cannot: a line that is written again in its cell, figures as pictures."""

from __future__ import annotations

import sys
from typing import Any


def _shell() -> Any:
    """The shell of a notebook's kernel; None anywhere else, IPython's own terminal included."""
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return shell if hasattr(shell, "kernel") else None


def cell_line() -> Any:
    """A place in the running cell whose text `update` replaces; None outside notebooks."""
    if _shell() is None:
        return None
    from IPython.display import display

    return display({"text/plain": "..."}, raw=True, display_id=True)


def show_figures() -> None:
    """A notebook knows matplotlib's figures only once it was told, by pyplot or here."""
    shell = _shell()
    if shell is not None:
        from IPython.core.pylabtools import select_figure_formats

        select_figure_formats(shell, {"png"})
