"""Questions with known answers: benchmarks, families made from a seed, anyone's files."""

from thinkcap.tasks.load import TASKS, load
from thinkcap.tasks.task import Item, Source, Task, check

__all__ = ["TASKS", "Item", "Source", "Task", "check", "load"]
