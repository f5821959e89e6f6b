"""Whether the gateway can do its work, said before whoever probes gives up."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock, Thread

import structlog

from storage.postgres.readiness import Check

log = structlog.get_logger(__name__)

ANSWER_WITHIN_S = 4.0
"""Below the timeouts of the shipped probes: 5 s in docker-compose.yml, 6 s in deploy/kubernetes/gateway.yaml. A frozen
PostgreSQL is given up after POSTROOM_STATEMENT_TIMEOUT_S and three seconds, 18 s in all."""

MISTAKES = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What a mistake of ours in an examination raises; what PostgreSQL raises is a finding of its own."""

FAILED = Check("examination", ok=False, finding="the examination failed", remedy="see `examination_failed` in the log")
"""What is said when a mistake of ours ended an examination: nobody knows how the database is."""


class Readiness:
    """Examines for all who ask at once by one thread, so that probes of a server that is silent hold no other."""

    def __init__(
        self,
        examine: Callable[[], Sequence[Check]],
        silent: Sequence[Check],
        *,
        then: Callable[[Sequence[Check]], object] = tuple,
        within_s: float = ANSWER_WITHIN_S,
    ) -> None:
        """Prepare; `silent` is what is said while an examination takes too long.

        `then` is told what was found, once whoever asked has it: it may take its time, and be told the next meanwhile.
        """
        self._examine = examine
        self._silent = silent
        self._then = then
        self._within_s = within_s
        self._asking = Lock()
        self._running: Future[Sequence[Check]] | None = None
        self._threads: list[Thread] = []

    async def checks(self) -> Sequence[Check]:
        """What was found, also by an examination that was under way already.

        It waits in the event loop: the threads that serve requests may all be held by a PostgreSQL that is silent.
        """
        with self._asking:
            if self._running is None or self._running.done():
                self._running = self._begin()
            running = self._running
        try:
            # What is waited for goes on when the waiting ends: others wait for it too.
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(running)), self._within_s)
        except TimeoutError:
            return self._silent

    def end(self) -> None:
        """Wait for what is under way, which borrows connections; not for longer than for an answer.

        A thread that a silent PostgreSQL holds for longer ends with the process.
        """
        ends_at = time.monotonic() + self._within_s
        for thread in self._threads:
            thread.join(max(0.0, ends_at - time.monotonic()))

    def _begin(self) -> Future[Sequence[Check]]:
        begun = Future[Sequence[Check]]()
        thread = Thread(target=self._run, args=(begun,), name="readiness", daemon=True)
        self._threads = [earlier for earlier in self._threads if earlier.is_alive()] + [thread]
        thread.start()
        return begun

    def _run(self, begun: Future[Sequence[Check]]) -> None:
        found: Sequence[Check] = (FAILED,)
        try:
            found = self._examine()
        except MISTAKES:
            log.exception("examination_failed")
        finally:
            begun.set_result(found)
        try:
            self._then(found)
        except MISTAKES:
            log.exception("examination_failed")
