"""Servers as context managers: started on the way in, stopped on the way out."""

from abc import ABC, abstractmethod
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from sandbox.servers.child_process import ChildProcess
from sandbox.servers.waiting import wait_until


class Startable(ABC):
    """Something that is started and stopped."""

    @abstractmethod
    def start(self) -> None:
        """Start; returns when requests are answered."""

    @abstractmethod
    def stop(self) -> None:
        """Stop in good order; returns when nothing is left running."""

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()


class ServerProcess(Startable):
    """A server that is one child process listening on a port of the loopback."""

    title: str
    """The server's name in error messages."""
    port: int
    process: ChildProcess

    @abstractmethod
    def answers(self) -> bool:
        """Whether this very process answers requests; called while the process runs."""

    def restart(self) -> None:
        """Stop, then start at the same address."""
        self.stop()
        self.start()

    def start_process(self, *, within: float) -> None:
        """Start the process and wait until it answers.

        `TimeoutError` when it does not answer within so many seconds, `RuntimeError` with its log's end when it ended.
        Either stops the server.
        """
        self.process.start()
        with ExitStack() as failed:
            failed.callback(self.stop)
            wait_until(self._answers_or_ended, within=within, describe=f"{self.title} on port {self.port}")
            failed.pop_all()

    def _answers_or_ended(self) -> bool:
        if not self.process.running:
            status, log = self.process.exit_status, self.process.read_log()[-2000:]
            raise RuntimeError(f"{self.title} ended with status {status}: {log}")
        return self.answers()
