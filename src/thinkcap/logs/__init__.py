"""What was run: our rows and anyone's logs become `Arm`s at this door.

`read(paths)` gives `Records`; behind it nobody sees a foreign column, file name or number of a stage.
"""

from thinkcap.logs.arms import RIGHT, UNJUDGED, WRONG, Arm, Questions, Records, Stages
from thinkcap.logs.door import read

__all__ = ["RIGHT", "UNJUDGED", "WRONG", "Arm", "Questions", "Records", "Stages", "read"]
