"""Workflows of one org in a test's own process: saved, run by an inline worker, and looked at."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from psycopg import Connection

from domain.payloads.payload import Payload, payload_types
from domain.payloads.workflows import RunPayload
from domain.workflows.definition import Definition, definition_of
from domain.workflows.faults import Form, check, read
from domain.workflows.resume import ResumePlan, plan_resume
from engine.catalogue import catalogue
from engine.runtime import Runtime
from engine.worker.lease import renew
from storage.jobs import ledger
from storage.workflows import definitions, nodes, runs, waits
from storage.workflows.runs import Run
from tests.doubles.factories import pass_time
from tests.doubles.inline_worker import run_job
from tests.workflows import workflow_jobs

MOST_JOBS = 50_000
SOON = timedelta(minutes=1)

__all__ = ["Workflows", "workflow_jobs"]


@dataclass
class Workflows:
    """An org with workflows, and the process that runs their jobs."""

    process: Runtime
    database: Connection
    org: UUID

    def save(self, written: str | dict[str, Any]) -> int:
        """Save a definition that is written as YAML, or given as values; returns its version."""
        with self.process.database.ledger() as tx:

            def find(name: str) -> Definition | None:
                stored = definitions.get(tx, self.org, name)
                return None if stored is None else definition_of(stored.document)

            checked = read(written.encode(), Form.YAML, find) if isinstance(written, str) else check(written, find)
            saved = definitions.save(tx, self.org, checked.document, uuid4().bytes * 2, by="ada")
        return saved.version

    def enqueue(self, payload: Payload, **options: Any) -> UUID:  # noqa: ANN401 - options of a job
        """Enqueue a job of the org, as a service would."""
        with self.process.database.ledger() as tx:
            (made,) = ledger.enqueue(
                tx, [payload.job(org_id=self.org, **options)], publisher=False, hint_timeout=self.process.hint_timeout
            )
        return made.job_id

    def payload(self, job_type: str, **fields: Any) -> Payload:  # noqa: ANN401 - any field
        """A payload of a job type."""
        found = payload_types.find(job_type)
        assert found is not None
        return found(**fields)

    def start(self, name: str, given: Mapping[str, Any] | None = None, version: int | None = None) -> UUID:
        """Begin a run; nothing of it but the beginning has happened then."""
        run_id = self.enqueue(RunPayload(workflow=name, version=version, input=dict(given or {})))
        assert self.run_job(run_id) == "succeeded", self.failures()
        return run_id

    def run_job(self, job_id: UUID) -> str:
        """Run one job once."""
        row = self.database.execute("select job_type from jobs where id = %s", (job_id,)).fetchone()
        assert row is not None
        job_type = catalogue.find(row[0])
        assert job_type is not None
        renew(self.process)
        return run_job(self.process, job_type, job_id)

    def queued(self, like: str = "%") -> list[UUID]:
        """Jobs that are due, the oldest first; a retry of a node's job is due at once, and a timer is not."""
        due = "run_at <= now() + case when job_type like 'workflow_jobs.%%' then %s else interval '0' end"
        query = f"select id from jobs where state = 'queued' and {due} and job_type like %s order by run_at, id"
        return [row[0] for row in self.database.execute(query, (SOON, like))]

    def drain(self, like: str = "%") -> int:
        """Run what is due until nothing is left; returns how many jobs were run. Timers of later are left."""
        count = 0
        while due := self.queued(like):
            for job_id in due:
                self.run_job(job_id)
                count += 1
            assert count < MOST_JOBS, "the jobs do not come to rest"
        return count

    def finish(self, name: str, given: Mapping[str, Any] | None = None, version: int | None = None) -> UUID:
        """Run a workflow until nothing is due any more."""
        run_id = self.start(name, given, version)
        self.drain()
        return run_id

    def pass_time(self, span: timedelta) -> None:
        """Let time pass."""
        pass_time(self.database, span)

    def run(self, run_id: UUID) -> Run:
        """A run as it stands."""
        with self.process.database.ledger() as tx:
            found = runs.get(tx, run_id)
        assert found is not None
        return found

    def states(self, run_id: UUID) -> dict[str, str]:
        """The state of each node of a run."""
        with self.process.database.ledger() as tx:
            return {one.node: one.state for one in nodes.listed(tx, run_id)}

    def outputs(self, run_id: UUID) -> dict[str, Any]:
        """The output of each node of a run that has one."""
        rows = self.database.execute(
            "select node, output from workflow_nodes where run_id = %s and item = -1 and output is not null", (run_id,)
        )
        return dict(rows.fetchall())

    def items(self, run_id: UUID, node: str) -> list[tuple[int, str]]:
        """Number and state of each item of a node that has begun."""
        rows = self.database.execute(
            "select item, state from workflow_nodes where run_id = %s and node = %s and item >= 0 order by item",
            (run_id, node),
        )
        return rows.fetchall()

    def error(self, run_id: UUID, node: str) -> tuple[str, str]:
        """Code and reason of a failed node."""
        row = self.database.execute(
            "select error ->> 'code', error ->> 'reason' from workflow_nodes"
            " where run_id = %s and node = %s and item = -1",
            (run_id, node),
        ).fetchone()
        assert row is not None
        return row[0], row[1]

    def send(self, run_id: UUID, name: str, payload: object = None) -> UUID:
        """Send an event to a run."""
        with self.process.database.ledger() as tx:
            return waits.send_event(tx, run_id, name, payload, by="ada")

    def decide(self, run_id: UUID, node: str, *, approve: bool, reason: str | None = None) -> bool:
        """Decide about a node that waits for a person."""
        row = self.database.execute(
            "select approval_id from workflow_nodes where run_id = %s and node = %s", (run_id, node)
        ).fetchone()
        assert row is not None
        with self.process.database.ledger() as tx:
            return waits.decide(tx, row[0], approve=approve, by="ada", reason=reason)

    def cancel(self, run_id: UUID, reason: str = "enough") -> bool:
        """Ask for a run to be canceled."""
        with self.process.database.ledger() as tx:
            return runs.request_cancel(tx, run_id, reason)

    def resume(self, run_id: UUID, version: int | None = None) -> None:
        """Begin the next round of an ended run."""
        with self.process.database.ledger() as tx:
            run = runs.lock(tx, run_id).answer
            assert run is not None
            own = self._definition(run.workflow, run.version)
            newer = None if version is None else self._definition(run.workflow, version)
            plan = plan_resume(own, nodes.ends(tx, run_id), newer)
            assert isinstance(plan, ResumePlan), plan
            runs.resume(tx, run, plan, newer or own, version or run.version)

    def _definition(self, name: str, version: int) -> Definition:
        with self.process.database.ledger() as tx:
            stored = definitions.get(tx, self.org, name, version)
        assert stored is not None
        return definition_of(stored.document)

    def failures(self) -> list[Any]:
        """Jobs that did not succeed, with why."""
        query = "select job_type, state, error, cancel_reason from jobs"
        return self.database.execute(f"{query} where error is not null or cancel_reason is not null").fetchall()
