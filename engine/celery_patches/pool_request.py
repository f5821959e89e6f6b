"""A Celery request that knows its pool's handle, by which `revoke --terminate` finds the child that runs the job.

Celery sets the handle in `execute_using_pool`, which would send the task's message to the pool; here the pool got the
claimed job.
"""

from typing import Any
from weakref import ref

from celery.worker.request import Request

PRIVATE = ("celery.worker.request:Request._apply_result",)


class PoolRequest(Request):  # type: ignore[misc] # Celery ships no types
    """A request whose job was handed to the pool by somebody else."""

    def handed_in(self, result: Any) -> None:  # noqa: ANN401 - a pool's result
        """Note the pool's handle, if it gave one."""
        self._apply_result = None if result is None else ref(result)
