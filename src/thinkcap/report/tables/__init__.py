"""Tables to cite: each a pure function of records and where they came from.

make("both-modes", load([Path("runs/study")]))
"""

from thinkcap.report.tables.registry import TABLES, make, make_all
from thinkcap.report.tables.table import NOT_RUN, Column, Table, TableRow

__all__ = ["NOT_RUN", "TABLES", "Column", "Table", "TableRow", "make", "make_all"]
