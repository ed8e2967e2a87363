"""What was run: our rows and anyone's logs become `Arm`s at this door.

`read(paths)` gives `Records`; behind it nobody sees a foreign column, file name or number of a stage. Other rooms
use the names below; formats also use `reading.Log`, `rows.read_rows`, `builder.ArmBuilder` and `said`.
"""

from thinkcap.logs.arms import COUNTED, RIGHT, UNJUDGED, WRONG, Arm, Questions, Records, Stages
from thinkcap.logs.door import read

__all__ = ["COUNTED", "RIGHT", "UNJUDGED", "WRONG", "Arm", "Questions", "Records", "Stages", "read"]
