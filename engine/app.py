"""The Celery application of the fleet: every job type is a task, and the relay is a bootstep of the worker."""

from functools import cached_property
from typing import Any

from celery import Celery, Task
from celery.bootsteps import StartStopStep

import celeryconfig
from domain.jobs.failures import Invalid
from domain.jobs.urls.one_broker import REMEDY, trouble_with_broker
from domain.payloads import payload_types
from domain.payloads.own_packages import FLEET, package_of
from engine.catalogue import Job, catalogue
from engine.celery_patches.default_pool import take_threads
from engine.celery_patches.fleet_connection import FleetAmqp
from engine.celery_patches.request_stack import RequestStack
from engine.celery_patches.single_events import FleetEvents
from engine.database_away import retry_while_away
from engine.messages.own_tasks import hand_over
from engine.relay.relay import Relay
from engine.results.ledger_backend import LedgerBackend
from engine.runtime import runtime
from engine.worker import (
    execution,
    inspection,  # noqa: F401  # the commands inspect and control send only the names that their own process knows
)
from engine.worker.probes import WorkerProbes
from engine.worker.worker import FleetWorker
from storage.jobs import job_types
from storage.postgres.database import Transaction


class FleetApp(Celery):  # type: ignore[misc] # Celery ships no types
    """Celery with our worker command, our logs and our sub-commands."""

    log_cls = "engine.worker.worker:FleetLogging"
    amqp_cls = FleetAmqp
    backend_cls = celeryconfig.result_backend  # of the settings alone, `CELERY_RESULT_BACKEND` would take the place
    events_cls = FleetEvents
    sub_commands = "commands.command_line.every_command:COMMANDS"
    """What `-A tasks` adds to Celery's command line, named as Celery names classes: no worker loads it."""

    def connection_for_read(self, url: str | None = None, **options: Any) -> Any:  # noqa: ANN401 - Celery's signature
        """A connection to take messages by, to the one broker of this process."""
        self.need_one_broker(url)
        return super().connection_for_read(url, **options)

    def connection_for_write(self, url: str | None = None, **options: Any) -> Any:  # noqa: ANN401 - Celery's signature
        """A connection to send messages by, to the same broker."""
        self.need_one_broker(url)
        return super().connection_for_write(url, **options)

    def send_task(
        self,
        name: str,
        args: Any = None,  # noqa: ANN401 - as above
        kwargs: Any = None,  # noqa: ANN401 - as above
        countdown: float | None = None,
        eta: Any = None,  # noqa: ANN401 - as above
        task_id: str | None = None,
        **options: Any,  # noqa: ANN401 - as above
    ) -> Any:  # noqa: ANN401 - as above
        """Enqueue the job whose contract the keyword arguments are, now; `delay` and `apply_async` come here, too.

        Raises `Invalid` with the field of what cannot become a job: no message is sent of which nobody hears again.
        """
        job_id = hand_over(self, name, args, kwargs, countdown, eta, task_id=task_id, **options)
        return (options.get("result_cls") or self.AsyncResult)(str(job_id))

    def need_one_broker(self, url: str | None = None) -> None:
        """End the process with one line when Celery goes by another broker than that of the settings.

        What publishes hints reads the settings alone, and so does the gateway: with two brokers each would look well,
        and no job would ever begin. `-b` is known only after the settings were read, so they cannot check it.
        """
        for given in (url, self.conf.broker_read_url, self.conf.broker_write_url):
            trouble = given and trouble_with_broker(given, celeryconfig.broker_url)
            if trouble:
                raise SystemExit(f"Error: {trouble}; {REMEDY}")

    @cached_property
    def Worker(self) -> Any:  # noqa: N802, ANN401 - Celery's name
        """The class of `celery worker`."""
        return self.subclass_with_self(FleetWorker)


app = FleetApp("postroom")
app.config_from_object("celeryconfig")
take_threads()


class JobTask(Task):  # type: ignore[misc] # Celery ships no types
    """A job type as Celery sees it: a task that the pool runs for a claimed job."""

    abstract = True
    backend = LedgerBackend(app)  # Celery looks for an app's own, which is one per thread, five times a job
    job_type: Job[Any]

    def run(self, *_arguments: object, **_contract: object) -> str:
        """Run the job that the ledger loop has claimed; raises `RuntimeError` when somebody calls the task itself."""
        attempt = self.request.get(execution.HEADER)
        if attempt is None:
            raise RuntimeError(f"{self.name} is a job type: enqueue a job, and a worker will run it")
        return execution.run_in_task(attempt, self.job_type)

    def apply(self, *_arguments: object, **_options: object) -> str:
        """Refuse to run the task in the caller's process."""
        return self.run()

    __call__ = run
    """Celery's worker wraps the one that a task inherits, and its tracer then takes that for a task's own: two more
    calls and another request for each job, longer than all that `run` does for a short one."""


def register(job_type: Job[Any]) -> None:
    """Make a job type a task of the app, under its name and its aliases."""
    for name in (job_type.name, *job_type.declared.aliases):
        facts: dict[str, Any] = {"name": name, "job_type": job_type, "__doc__": job_type.handler.__doc__}
        task = app.register_task(type(job_type.name, (JobTask,), facts)())
        type(task).request_stack = RequestStack()


def register_all() -> None:
    """Make every job type a task of the app.

    Raises `ImportError` when the walk over the families found none, or no handler of a payload class.
    """
    if not len(catalogue):
        raise ImportError("no job type was found: the files of tasks/ hold no function with @job")
    for payload in payload_types:
        job_type, package = payload.declaration.job_type, package_of(payload)
        if catalogue.find(job_type) is None:
            family, _, function = job_type.partition(".")
            where = f"{family}.py in tasks/" if package == FLEET else f"module {family} of {package}"
            raise ImportError(f"{payload.__name__} has no handler: no {where} has a {function} with @job")
    for known in catalogue:
        register(known)


class FleetStep(StartStopStep):  # type: ignore[misc] # Celery ships no types
    """Starts and stops with the worker command what is none of Celery's: the relay, metrics and health."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:  # noqa: ANN401 - Celery's signature
        """Nothing starts before the pool does."""
        super().__init__(parent, **options)
        self.relay: Relay | None = None
        self.probes: WorkerProbes | None = None

    def start(self, parent: Any) -> None:  # noqa: ANN401 - Celery's signature
        """Publish the catalogue, and join the relay."""
        retry_while_away(runtime(), publish_catalogue)
        self.relay = Relay(runtime())
        self.relay.start()
        parent.watched_threads.append(self.relay)
        self.probes = WorkerProbes(runtime(), parent)

    def stop(self, _parent: Any) -> None:  # noqa: ANN401 - Celery's signature
        """Leave the relay to another worker."""
        if self.relay is not None:
            self.relay.stop()
        if self.probes is not None:
            self.probes.stop()

    terminate = stop


def publish_catalogue() -> None:
    """Write the catalogue into the ledger, where every producer reads it; raises what `write_catalogue` does."""
    with runtime().database.ledger() as tx:
        write_catalogue(tx)


def write_catalogue(tx: Transaction) -> None:
    """The same in a transaction of the caller's.

    Raises `Invalid` when the deadline of a type that calls a provider leaves no time for a call.
    """
    for known in catalogue:
        if known.providers and known.deadline <= runtime().call_time:
            raise Invalid(
                "provider_call_limit_s",
                f"a call and its record may take {runtime().call_time.total_seconds():g} s,"
                f" but an attempt at {known.name} only {known.deadline.total_seconds():g} s",
            )
    job_types.publish(tx, [job_type.line() for job_type in catalogue])


app.steps["worker"].add(FleetStep)
