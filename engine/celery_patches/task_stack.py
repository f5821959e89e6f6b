"""Celery's stack of the tasks that a thread runs, kept from running empty between the jobs of one batch.

Celery throws the stack away when its last task leaves, and makes a new one for the next: with one entry kept below, a
batch of light jobs makes one stack.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from celery import Task
from celery._state import _task_stack

PRIVATE = ("celery._state:_task_stack",)


@contextmanager
def kept_task_stack(task: Task) -> Iterator[None]:
    """Keep an entry, of this task, on the thread's stack."""
    _task_stack.push(task)
    try:
        yield
    finally:
        _task_stack.pop()
