"""Keeps Celery's per-thread stack of running tasks from becoming empty between the jobs of one batch.

Celery discards the stack when its last entry is removed, and allocates another for the next task. With an extra entry
at the bottom, Celery allocates one stack per batch instead of one per job.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from celery import Task
from celery._state import _task_stack

PRIVATE = ("celery._state:_task_stack",)


@contextmanager
def kept_task_stack(task: Task) -> Iterator[None]:
    """Keep `task` at the bottom of the thread's stack for the length of the block."""
    _task_stack.push(task)
    try:
        yield
    finally:
        _task_stack.pop()
