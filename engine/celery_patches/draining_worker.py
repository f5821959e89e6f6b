"""Celery's worker command, asked before a warm shutdown closes its pool.

Celery closes the pool at once, and what its jobs report afterwards is lost; there is no public place in between.
"""

from abc import abstractmethod

from celery.apps.worker import Worker

PRIVATE = ("celery.worker:WorkController._shutdown",)


class DrainingWorker(Worker):  # type: ignore[misc] # Celery ships no types
    """A worker command that lets running jobs end."""

    @abstractmethod
    def drain(self) -> None:
        """Let running jobs end."""

    def _shutdown(self, warm: bool = True) -> None:  # noqa: FBT001, FBT002 - Celery's signature
        if warm:
            self.drain()
        super()._shutdown(warm)
