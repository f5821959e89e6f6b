"""Postroom by HTTP, for programs that wait in their own thread. May be shared by threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from postroom_client import calls
from postroom_client.conversation import Conversation, Pause, Step, Steps
from postroom_client.credentials import heads
from postroom_client.options import Id, JobOptions
from postroom_client.records import Canceled, Enqueued, Job, Run, RunEvent, SentEvent, StartedRun
from postroom_client.retries import CONNECTION_FAULTS, Outcome

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

Answer = TypeVar("Answer")


class Client:
    """Hands over work to a gateway as the org of an API key, and waits for the results.

    Every method raises `Refused` for a definite no, and `NotAnswered` when no try got an answer.
    """

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        http: httpx.Client | None = None,
        conversation: Conversation | None = None,
    ) -> None:
        """`http` is a client of your own, for a proxy or certificates; it is yours to close.

        Raises `Invalid` for a key that cannot be one.
        """
        self._url = url.rstrip("/")
        self._headers = heads(api_key)
        self._http = http or httpx.Client(timeout=30.0)
        self._owns_http = http is None
        self._conversation = conversation or Conversation()

    def __enter__(self) -> Self:
        """Use it in a block, at whose end it is closed."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        if self._owns_http:
            self._http.close()

    def enqueue(
        self, job_type: str, payload: Mapping[str, Any], *, key: str | None = None, **options: Unpack[JobOptions]
    ) -> Enqueued:
        """Enqueue a job. The same call with the same key gives the first job for 30 days, however often it is made.

        Without a key a request whose answer was lost is not tried again, and the rule of a unique job type counts.
        """
        return self._hold(self._conversation.tried(calls.enqueue(job_type, payload, key, options)))

    def job(self, job_id: Id) -> Job:
        """Look at a job."""
        return self._hold(self._conversation.tried(calls.job(job_id)))

    def wait(
        self, job_id: Id, *, timeout_s: float | None = None, on_change: Callable[[Job], object] | None = None
    ) -> Job:
        """Wait until a job has ended, however it ends; `result()` of what is returned has its output.

        `on_change` is called with the job as it is at first, and whenever its state or progress has changed. Raises
        `NotEnded` when the time is over before.
        """
        return self._hold(self._conversation.until_ended(calls.job(job_id), timeout_s, on_change))

    def cancel(self, job_id: Id, *, reason: str | None = None) -> Canceled:
        """Cancel a job and those that it has enqueued; a running one stops at its next step."""
        return self._hold(self._conversation.tried(calls.cancel(job_id, reason)))

    def start_run(
        self,
        workflow: str,
        input: Mapping[str, Any] | None = None,  # noqa: A002 - the field's name
        *,
        key: str | None = None,
        version: int | None = None,
        project_id: Id | None = None,
    ) -> StartedRun:
        """Start a run of a workflow, by its latest version or the one that is named."""
        said = {"input": input, "version": version, "project_id": project_id}
        return self._hold(self._conversation.tried(calls.start_run(workflow, key, said)))

    def run(self, run_id: Id) -> Run:
        """Look at a run and its nodes."""
        return self._hold(self._conversation.tried(calls.run(run_id)))

    def wait_for_run(
        self, run_id: Id, *, timeout_s: float | None = None, on_change: Callable[[Run], object] | None = None
    ) -> Run:
        """Wait until a run has ended, as `wait` does for a job."""
        return self._hold(self._conversation.until_ended(calls.run(run_id), timeout_s, on_change))

    def send_event(self, run_id: Id, name: str, payload: object = None, *, key: str | None = None) -> SentEvent:
        """Send a run an event, which it keeps until a node waits for it. Calls with the same key are one event."""
        return self._hold(self._conversation.tried(calls.send_event(run_id, name, payload, key)))

    def run_events(self, run_id: Id) -> list[RunEvent]:
        """All events that were sent to a run."""
        return self._hold(self._conversation.events_of(run_id))

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Any:  # noqa: ANN401 - any route's answer
        """Any other route of the API, such as `GET /v1/approvals`, with the same retries and errors."""
        return self._hold(self._conversation.tried(calls.request(method, path, body, query=query or {}, key=key)))

    def _hold(self, steps: Steps[Answer]) -> Answer:
        """Carry out a conversation."""
        outcome: Outcome | None = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                answer: Answer = end.value
                return answer
            outcome = self._carry_out(step)

    def _carry_out(self, step: Step) -> Outcome | None:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        try:
            return self._http.request(
                step.method,
                f"{self._url}{step.path}",
                params=dict(step.query),
                content=step.body,
                headers=[*self._headers, *step.headers],
            )
        except CONNECTION_FAULTS as fault:
            return fault
