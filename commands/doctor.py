"""`celery -A tasks doctor`: what is wrong with this installation, and what to do about it."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click
from celery import Celery

from commands.answers import json_option, show_rows
from commands.artifacts import store_check
from commands.clients_queues import clients_queues_checks
from commands.people_checks import console_check, people_check
from commands.settings_checks import extras_checks, model_check, one_broker_check, settings_checks
from domain.jobs.failures import Invalid
from domain.jobs.queues import BrokerNames, Queue
from engine.broker.broker_use import diagnose_use
from engine.broker.connection_errors import CONNECTION_ERRORS
from engine.broker.publisher import transport_options
from engine.catalogue import catalogue
from engine.celery_patches.fleet_connection import FleetAmqp
from engine.counting.beat_ticks import intervals
from engine.runtime import Runtime, runtime
from observability import logs
from observability.connection_diagnosis import diagnosis_of
from operations.fleet_checks import Looking
from operations.health import LEDGER_CHECKS, HealthFinding, finding_of
from settings import Settings
from storage.postgres.readiness import Check, database_checks, guarded, installation_checks, not_answered

INSPECTION_S = 2.0
NAMES = "worker names"


class AskingApp(Celery):  # type: ignore[misc] # Celery ships no types
    """Asks the broker that it was given, whatever `CELERY_BROKER_URL` says: Celery reads that first."""

    def connection_for_write(self, _url: str | None = None, **options: Any) -> Any:  # noqa: ANN401 - Celery's signature
        """A connection to the broker that was given."""
        return super().connection_for_write(self.conf["broker_url"], **options)


@click.command()
@json_option
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Examine broker, database, rights, catalogue, workers, beat, watches, clock, settings; status 1 if one fails."""
    if ctx.obj is not None:
        logs.configure("CRITICAL")
    process = runtime()
    broker = [] if ctx.obj is None else [one_broker_check(ctx.obj.app.conf, process.settings)]
    rows = [finding_of(check, process.settings) for check in (*broker, *examine(process))]
    show_rows(rows, tuple(HealthFinding.model_fields), as_json=as_json)
    if not all(row.ok for row in rows):
        ctx.exit(1)


def examine(process: Runtime) -> Sequence[Check]:
    """Every check, whatever the others found."""
    settings = process.settings
    broker = broker_check(settings)
    return [
        *settings_checks(settings),
        *extras_checks(),
        store_check(settings),
        broker,
        limits_check(process),
        *_of_the_database(process),
        *(
            [*queue_checks(settings), names_check(settings), *clients_queues_checks(settings, INSPECTION_S)]
            if broker.ok
            else [unasked(name, broker.finding) for name in ("workers", NAMES)]
        ),
    ]


def _of_the_database(process: Runtime) -> Sequence[Check]:
    try:
        database = process.database
    except Invalid as invalid:
        return [Check("database URL", ok=False, finding=invalid.reason, remedy=f"mend {invalid.field}")]
    found = database_checks(database, [job_type.name for job_type in catalogue])
    is_away = not all(check.answers for check in found)
    return [
        *found,
        *installation_checks(database, is_away=is_away),
        *(
            not_answered(name) if is_away else guarded(name, partial(check, process))
            for name, check in _ledger_checks()
        ),
        model_check(process.settings),
    ]


def of_ledger(check: Callable[[Looking], Check]) -> Callable[[Runtime], Check]:
    """A check of what the console shows, too, for a process."""

    def examine_ledger(process: Runtime) -> Check:
        with process.database.ledger() as tx:
            return check(Looking(tx, process.settings, process.clock(), process.machine_clock, intervals()))

    return examine_ledger


def _ledger_checks() -> Sequence[tuple[str, Callable[[Runtime], Check]]]:
    """What only the ledger knows, by name."""
    return (
        ("people", people_check),
        ("console", console_check),
        *((name, of_ledger(check)) for name, check in LEDGER_CHECKS),
    )


def broker_check(settings: Settings) -> Check:
    """Whether processes of the fleet can use the broker: a connection as theirs, and what workers write to it."""
    diagnosis = diagnose_use(settings.broker_url.get_secret_value(), INSPECTION_S)
    if diagnosis is None:
        return Check("broker", ok=True, finding="answers, and takes messages")
    remedy = f"{diagnosis.remedy}; jobs wait in PostgreSQL meanwhile"
    return Check("broker", ok=False, finding=diagnosis.finding, remedy=remedy)


def limits_check(process: Runtime) -> Check:
    """Whether calls to providers are counted for the whole fleet."""
    settings = process.settings
    if settings.counting_url is None:
        finding = "each process counts its calls for itself: the fleet may call faster than a provider allows"
        remedy = "set POSTROOM_LIMITS_URL to a Redis or Valkey"
        return Check("rate limits", ok=settings.environment != "production", finding=finding, remedy=remedy)
    diagnosis = process.meters.diagnosis()
    if diagnosis is not None:
        finding = f"calls are not counted: {diagnosis.finding}"
        return Check("rate limits", ok=False, finding=finding, remedy=diagnosis.remedy)
    return Check("rate limits", ok=True, finding="calls are counted for the whole fleet")


def unasked(name: str, silence: str) -> Check:
    """What nobody could find out, because the broker did not answer."""
    finding = f"the workers could not be asked: the broker {silence}"
    return Check(name, ok=False, finding=finding, remedy="mend the broker first")


def queue_checks(settings: Settings) -> Sequence[Check]:
    """Whether some worker consumes each queue, by asking the workers."""
    found, silence = ask_workers(settings, lambda app: app.control.inspect(timeout=INSPECTION_S).active_queues())
    if silence:
        return [unasked("workers", silence)]
    names = BrokerNames(settings.queue_prefix)
    consumers = Counter(
        queue for queues in (found or {}).values() for queue in {names.queue(each["name"]) for each in queues}
    )
    return [_consumed(queue.value, consumers[queue]) for queue in Queue]


def ask_workers(settings: Settings, question: Callable[[Celery], Any]) -> tuple[Any, str]:
    """What the workers answer, and what the broker did instead of asking them; that is empty when it asked."""
    url = settings.broker_url.get_secret_value()
    # An application of its own, so that a dead broker is not waited for.
    with AskingApp("doctor", broker=url, amqp=FleetAmqp, set_as_current=False) as app:
        names = BrokerNames(settings.queue_prefix)
        app.conf.update(broker_transport_options=transport_options(), control_exchange=names.control_exchange)
        try:
            return question(app), ""
        except CONNECTION_ERRORS as error:
            return None, diagnosis_of(error).finding


def names_check(settings: Settings) -> Check:
    """Whether each worker has a name of its own: a command to one of two is heard by both, and Flower shows one."""
    found, silence = ask_workers(settings, lambda app: app.control.broadcast("ping", reply=True, timeout=INSPECTION_S))
    if silence:
        return unasked(NAMES, silence)
    counted = Counter(name for answer in found or [] for name in answer)
    twice = ", ".join(sorted(name for name, times in counted.items() if times > 1))
    if not twice:
        return Check(NAMES, ok=True, finding="each is one worker's")
    remedy = "give each worker a name of its own: celery -A tasks worker -n <name>@%h"
    return Check(NAMES, ok=False, finding=f"several workers are named {twice}", remedy=remedy)


def _consumed(queue: str, workers: int) -> Check:
    if workers:
        return Check(f"queue {queue}", ok=True, finding=f"{workers} workers")
    remedy = f"start one: celery -A tasks worker -Q {queue}"
    return Check(f"queue {queue}", ok=False, finding="no worker consumes it", remedy=remedy)
