"""The Celery application of the fleet: every job type registered as a task, and the frame's own parts as bootsteps."""

import atexit
import importlib
from typing import Any

import structlog
from celery import Celery, Task, signals
from celery.bootsteps import StartStopStep

from domain.failures import Failure
from providers import logs
from storage import job_types, ledger
from tasks import admission, runner
from tasks.catalogue import Job, catalogue
from tasks.lease import LeaseKeeper, renew
from tasks.relay import Relay
from tasks.runtime import runtime

log = structlog.get_logger(__name__)

FAMILIES = ("deadletter", "drafts", "gmail", "maintenance", "threads", "triage")
"""The files of job types; adding a family adds its name here (a test compares it with the folder)."""

app = Celery("postroom")
app.config_from_object("celeryconfig")


class JobTask(Task):  # type: ignore[misc] # Celery ships no types
    """A job type as Celery sees it: a task whose message is a hint."""

    Request = "tasks.request:JobRequest"
    abstract = True
    job_type: Job[Any]

    def run(self, *arguments: object, **contract: object) -> str:
        """Run the job that the message is about."""
        if arguments:
            admission.refuse(runtime(), self.job_type.name, self.request.id, "args", "must be empty")
            return "refused"
        job_id = admission.job_id_of(runtime(), self.job_type, self.request.id, contract)
        return "refused" if job_id is None else runner.run(runtime(), self.job_type, job_id)


def register(job_type: Job[Any]) -> None:
    """Make a job type a task of the app, under its name and its aliases."""
    for name in (job_type.name, *job_type.aliases):
        facts = {"name": name, "job_type": job_type, "__doc__": job_type.handler.__doc__}
        app.register_task(type(job_type.name, (JobTask,), facts)())


class FleetStep(StartStopStep):  # type: ignore[misc] # Celery ships no types
    """Starts and stops the relay with the worker command."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:  # noqa: ANN401 - Celery's signature
        """Nothing starts before the pool does."""
        super().__init__(parent, **options)
        self.relay: Relay | None = None

    def start(self, _parent: Any) -> None:  # noqa: ANN401 - Celery's signature
        """Tell the doors what this worker knows, and join the relay."""
        publish_catalogue()
        self.relay = Relay(runtime())
        self.relay.start()

    def stop(self, _parent: Any) -> None:  # noqa: ANN401 - Celery's signature
        """Leave the relay to another worker."""
        if self.relay is not None:
            self.relay.stop()

    terminate = stop


def publish_catalogue() -> None:
    """Write the catalogue into the ledger, where every door reads it."""
    with runtime().database.ledger() as tx:
        job_types.publish(tx, [job_type.line() for job_type in catalogue])


def keep_lease(**_: object) -> None:
    """Register this process and keep its lease; in a prefork pool each child is a process of its own."""
    renew(runtime())
    LeaseKeeper(runtime()).start()


def begin_stopping(**_: object) -> None:
    """Let handlers notice at their next step that the process stops."""
    runtime().stopping.set()


def return_claims(**_: object) -> None:
    """Give back what this node still holds; the attempts do not count."""
    process = runtime()
    try:
        with process.database.ledger() as tx:
            moved = ledger.return_claims(tx, process.worker.node_id, process.lease.length)
    except Failure as failure:
        # The leases end by themselves, and the rescue takes the jobs back then.
        log.warning("claims_not_returned", reason=failure.reason)
        return
    process.publisher.publish(moved.hints)
    if moved.job_ids:
        log.info("claims_returned", jobs=len(moved.job_ids))


def refuse_message(message: Any, exc: BaseException | None = None, **_: object) -> None:  # noqa: ANN401 - a kombu message
    """Record a message that is no Celery task message."""
    headers = message.headers if isinstance(message.headers, dict) else {}
    reason = "is no Celery task message" if exc is None else logs.sanitise(exc)
    admission.refuse(runtime(), str(headers.get("task")), str(headers.get("id")), "message", reason)


def refuse_unknown(message: Any, name: str, id: str, **_: object) -> None:  # noqa: A002, ANN401 - the signal's own words
    """A message of a type that nobody knows becomes a dead letter if it is a job, and a recorded refusal if not."""
    admission.bury_stranger(runtime(), str(name), str(id), message.payload)


def configure_logging(**_: object) -> None:
    """Replace Celery's logging by structured, redacted records."""
    logs.configure(runtime().settings.log_level)


def on_worker_init(**_: object) -> None:
    """Give claims back also when the worker is stopped coldly, where Celery sends no signal."""
    atexit.register(return_claims)


for family in FAMILIES:
    importlib.import_module(f"tasks.{family}")
for known in catalogue:
    register(known)

app.steps["worker"].add(FleetStep)
signals.setup_logging.connect(configure_logging, weak=False)
signals.worker_init.connect(on_worker_init, weak=False)
signals.worker_init.connect(keep_lease, weak=False)
signals.worker_process_init.connect(keep_lease, weak=False)
signals.worker_shutting_down.connect(begin_stopping, weak=False)
signals.worker_shutdown.connect(return_claims, weak=False)
signals.task_rejected.connect(refuse_message, weak=False)
signals.task_unknown.connect(refuse_unknown, weak=False)
