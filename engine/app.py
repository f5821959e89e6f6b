"""The Celery application of the fleet: every job type is a task, and the relay is a bootstep of the worker."""

from functools import cached_property
from typing import Any

from celery import Celery, Task
from celery.backends.base import DisabledBackend
from celery.bootsteps import StartStopStep
from celery.exceptions import Reject

from domain.payloads import payload_types
from engine.catalogue import Job, catalogue
from engine.celery_patches.request_stack import RequestStack
from engine.process.database_away import retry_while_away
from engine.process.hints import CLAIM_BACKLOG
from engine.process.refused_messages import record_refusal
from engine.process.runtime import runtime
from engine.relay.relay import Relay
from engine.worker import adoption, execution
from engine.worker.worker import FleetWorker
from storage.ledger import job_types
from storage.postgres.execution import DatabaseUnavailable


class FleetApp(Celery):  # type: ignore[misc] # Celery ships no types
    """Celery with our worker command and our logs."""

    log_cls = "engine.worker.worker:FleetLogging"

    @cached_property
    def Worker(self) -> Any:  # noqa: N802, ANN401 - Celery's name
        """The class of `celery worker`."""
        return self.subclass_with_self(FleetWorker)


app = FleetApp("postroom")
app.config_from_object("celeryconfig")


class JobTask(Task):  # type: ignore[misc] # Celery ships no types
    """A job type as Celery sees it: a task whose message is a hint."""

    Strategy = "engine.worker.loop:strategy"
    abstract = True
    backend = DisabledBackend(app)  # what became of a job stands in the ledger; Celery looks for this five times a job
    acks_late = True  # of foreign jobs, until they are in the ledger
    reject_on_worker_lost = True
    job_type: Job[Any]

    def run(self, *arguments: object, **contract: object) -> str:
        """Run the job that the ledger loop has claimed; without one, take a foreign client's job into the ledger."""
        attempt = self.request.get(execution.HEADER)
        if attempt is not None:
            return execution.run_in_task(attempt, self.job_type)
        if arguments:
            record_refusal(runtime(), self.job_type.name, self.request.id, "args", "must be empty")
            return "refused"
        try:
            return adoption.adopt(runtime(), self.job_type, self.request.id, contract)
        except DatabaseUnavailable as error:
            raise Reject(error.reason, requeue=True) from error

    __call__ = run
    """Celery's worker wraps the one that a task inherits, and its tracer then takes that for a task's own: two more
    calls and another request for each job, longer than all that `run` does for a light one."""


class ClaimBacklogTask(Task):  # type: ignore[misc] # Celery ships no types
    """The task of messages with demand; the ledger loop takes them, and nobody else may send one."""

    Strategy = JobTask.Strategy
    name = CLAIM_BACKLOG

    def run(self, *_arguments: object, **_contract: object) -> str:
        """Refuse a message that is not the relay's."""
        record_refusal(runtime(), CLAIM_BACKLOG, self.request.id, "task", "is not for clients")
        return "refused"


def register(job_type: Job[Any]) -> None:
    """Make a job type a task of the app, under its name and its aliases."""
    for name in (job_type.name, *job_type.declared.aliases):
        facts: dict[str, Any] = {"name": name, "job_type": job_type, "__doc__": job_type.handler.__doc__}
        # A prefork child past its deadline has lost its claim and still holds its slot of the pool.
        facts["time_limit"] = (job_type.deadline + execution.OVERTIME).total_seconds()
        task = app.register_task(type(job_type.name, (JobTask,), facts)())
        type(task).request_stack = RequestStack()


def register_all() -> None:
    """Make every job type a task of the app.

    Raises `ImportError` when the walk over the families found none, or no handler of a payload class.
    """
    if not len(catalogue):
        raise ImportError("no job type was found: the files of tasks/ hold no function with @job")
    for payload in payload_types:
        job_type = payload.declaration.job_type
        if catalogue.find(job_type) is None:
            family, _, function = job_type.partition(".")
            raise ImportError(f"{payload.__name__} has no handler: tasks/{family}.py holds no {function} with @job")
    for known in catalogue:
        register(known)


class FleetStep(StartStopStep):  # type: ignore[misc] # Celery ships no types
    """Starts and stops the relay with the worker command."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:  # noqa: ANN401 - Celery's signature
        """Nothing starts before the pool does."""
        super().__init__(parent, **options)
        self.relay: Relay | None = None

    def start(self, parent: Any) -> None:  # noqa: ANN401 - Celery's signature
        """Publish the catalogue, and join the relay."""
        retry_while_away(runtime(), publish_catalogue)
        self.relay = Relay(runtime())
        self.relay.start()
        parent.watched_threads.append(self.relay)

    def stop(self, _parent: Any) -> None:  # noqa: ANN401 - Celery's signature
        """Leave the relay to another worker."""
        if self.relay is not None:
            self.relay.stop()

    terminate = stop


def publish_catalogue() -> None:
    """Write the catalogue into the ledger, where every producer reads it."""
    with runtime().database.ledger() as tx:
        job_types.publish(tx, [job_type.line() for job_type in catalogue])


app.register_task(ClaimBacklogTask())

app.steps["worker"].add(FleetStep)
