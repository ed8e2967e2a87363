"""Questions with known answers, and the grader that compares what a model said with them."""

from thinkcap.tasks.load import TASKS, load
from thinkcap.tasks.task import Item, Source, Task, check

__all__ = ["TASKS", "Item", "Source", "Task", "check", "load"]
