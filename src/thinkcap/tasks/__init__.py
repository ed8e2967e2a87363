"""Questions with known answers: benchmarks, families made from a seed, anyone's files.

Other rooms use the names below: `load` finds a task by its word, a `Source` gives its items, `check` tries its
golds. Judging an answer is not done here; that is `grading`.
"""

from thinkcap.tasks.load import TASKS, load
from thinkcap.tasks.task import Item, Source, Task, check

__all__ = ["TASKS", "Item", "Source", "Task", "check", "load"]
