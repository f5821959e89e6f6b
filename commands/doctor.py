"""`celery -A tasks doctor`: what is wrong with this installation, and what to do about it."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import click
from celery import Celery

from commands.answers import json_option, show_rows
from commands.artifacts import store_check
from commands.clients_queues import clients_queues_checks
from commands.people_checks import console_check, people_check
from commands.settings_checks import extras_checks, model_check, one_broker_check, settings_checks
from domain.jobs.failures import Failure, Invalid
from domain.jobs.queues import BrokerNames, Queue
from engine.broker.broker_use import diagnose_use
from engine.broker.connection_errors import CONNECTION_ERRORS
from engine.broker.publisher import transport_options
from engine.catalogue import catalogue
from engine.celery_patches.fleet_connection import FleetAmqp
from engine.counting import beat_ticks
from engine.runtime import Runtime, runtime
from observability import logs
from observability.connection_diagnosis import diagnosis_of
from operations.health import LEDGER_CHECKS, Looking
from settings import Settings
from storage.orgs.secrets import other_keys
from storage.postgres.execution import DatabaseError
from storage.postgres.readiness import Check, database_checks, installation_checks, not_answered

LARGEST_CLOCK_DIFFERENCE_S = 5.0
"""Jobs go by the database's clock, logs and providers' tokens by the machine's; one that is this far off is broken."""
INSPECTION_S = 2.0
NAMES = "worker names"
MOST_NAMED = 3
START_BEAT = "start one, better two: celery -A tasks beat"


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
    rows = [*broker, *examine(process)]
    show_rows(rows, ("name", "ok", "finding", "remedy"), as_json=as_json)
    if not all(check.ok for check in rows):
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
            not_answered(name) if is_away else _checked(name, partial(check, process))
            for name, check in _ledger_checks()
        ),
        model_check(process.settings),
    ]


def of_ledger(check: Callable[[Looking], Check]) -> Callable[[Runtime], Check]:
    """A check of what the console shows, too, for a process."""

    def examine_ledger(process: Runtime) -> Check:
        with process.database.ledger() as tx:
            return check(Looking(tx, process.settings, process.clock()))

    return examine_ledger


def _ledger_checks() -> Sequence[tuple[str, Callable[[Runtime], Check]]]:
    """What only the ledger knows, by name."""
    return (
        ("clock", clock_check),
        ("sealed tokens", seal_check),
        ("beat", beat_check),
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


def clock_check(process: Runtime) -> Check:
    """How far this machine's clock is from the database's, which is the one that counts."""
    with process.database.ledger() as tx:
        theirs: datetime = tx.raw("select clock_timestamp() as now")[0].now
    off = abs((process.machine_clock() - theirs.astimezone(UTC)).total_seconds())
    right = off <= LARGEST_CLOCK_DIFFERENCE_S
    finding = f"{off:.1f} s from the database's"
    return Check("clock", ok=right, finding=finding, remedy="" if right else "let NTP set both machines' clocks")


def seal_check(process: Runtime) -> Check:
    """Whether the sealing keys of these settings open every mailbox's tokens and every secret."""
    with process.database.ledger() as tx:
        found = other_keys.count(tx, process.sealer)
    if not (found.mailboxes or found.secrets):
        return Check("sealed tokens", ok=True, finding="the sealing keys open every mailbox's and all secrets")
    finding = (
        f"the tokens of {found.mailboxes} mailboxes and {found.secrets} secrets were sealed by a key that is not in"
        " POSTROOM_SEALING_KEYS: their jobs cannot run here"
    )
    remedy = "put that key into POSTROOM_SEALING_KEYS, behind the new one, and start every process anew"
    return Check("sealed tokens", ok=False, finding=finding, remedy=remedy)


def beat_check(process: Runtime) -> Check:
    """Whether a beat lives, by its ticks in the ledger: without one nothing periodic happens, and nothing says so."""
    with process.database.ledger() as tx:
        ticks = beat_ticks.look(tx)
    if ticks.age is None:
        finding = "none has ever run: no watch is renewed, no lost push is made up for, no alert is raised"
        return Check("beat", ok=False, finding=finding, remedy=START_BEAT)
    seen = f"{process.clock() - ticks.age:%Y-%m-%d %H:%M:%S} UTC"
    late = f"{', '.join(ticks.late[:MOST_NAMED])}" + (", …" if len(ticks.late) > MOST_NAMED else "")
    if ticks.late and ticks.is_silent:
        finding = f"none lives: the last tick was at {seen}; late are {late}"
        return Check("beat", ok=False, finding=finding, remedy=f"{START_BEAT}; its log says why it ended")
    if ticks.late:
        remedy = "see why in beat's log: tick_not_enqueued names the reason"
        return Check("beat", ok=False, finding=f"ticks, but not for {late}", remedy=remedy)
    if ticks.missing:
        finding = f"has never ticked for {', '.join(ticks.missing)}: it is of another release"
        return Check("beat", ok=False, finding=finding, remedy="start beat anew from this release")
    if ticks.is_silent:
        return Check("beat", ok=True, finding=f"silent since {seen}, while gates keep its jobs from running")
    return Check("beat", ok=True, finding=f"ticks; the last time at {seen}")


def _checked(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except (Failure, DatabaseError):
        return not_answered(name)


def _consumed(queue: str, workers: int) -> Check:
    if workers:
        return Check(f"queue {queue}", ok=True, finding=f"{workers} workers")
    remedy = f"start one: celery -A tasks worker -Q {queue}"
    return Check(f"queue {queue}", ok=False, finding="no worker consumes it", remedy=remedy)
