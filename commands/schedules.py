"""`celery -A tasks schedules`: which jobs an org wants by cron."""

import click

from commands.answers import FleetGroup, json_object, json_option, operator, operator_option, show_document, show_rows
from domain.jobs.failures import Invalid
from domain.scheduling.cron import Missed, Timetable
from engine.catalogue import catalogue
from engine.runtime import runtime
from storage.ledger import orgs, payload_names
from storage.schedules import schedules as stored
from storage.schedules.schedules import RequestedJob

LINE = (
    "org_id", "name", "job_type", "cron", "zone", "missed", "enabled", "next_run_at", "last_run_at", "stopped",
)  # fmt: skip
name_argument = click.argument("name")
org_option = click.option("--org", required=True, help="The org's id or name.")


@click.group(cls=FleetGroup)
def schedules() -> None:
    """Add, list, pause, resume and remove schedules: jobs that an org wants by cron."""


@schedules.command("add")
@name_argument
@org_option
@click.option("--type", "job_type", required=True, help="The job type.")
@click.option("--cron", required=True, help="Minute, hour, day of month, month, day of week: '30 8 * * mon-fri'.")
@click.option("--zone", default="UTC", show_default=True, help="Whose clocks are meant, such as Europe/Berlin.")
@click.option("--payload", default="{}", help="A JSON object, or - to read it from standard input.")
@click.option(
    "--missed",
    type=click.Choice([missed.value for missed in Missed]),
    default=Missed.SKIP.value,
    show_default=True,
    help="What becomes of due times that went by while nobody looked.",
)
@operator_option
@json_option
def add_schedule(  # noqa: PLR0913, PLR0917 - one parameter per option
    name: str,
    org: str,
    job_type: str,
    cron: str,
    zone: str,
    payload: str,
    missed: str,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Enqueue a job at each time that the expression names."""
    known = catalogue.find(job_type)
    if known is None:
        raise Invalid("type", f"{job_type} is no known job type")
    version = known.declared.version
    given, timetable = json_object(payload, "payload"), Timetable(cron, zone, Missed(missed))
    with runtime().database.ledger() as tx:
        org_id = orgs.find(tx, org)
        document = payload_names.resolve(tx, known.payload, given, org_id=org_id)
        known.read(document, version)
        work = RequestedJob(known.name, document, version)
        made = stored.add(tx, org_id, name, work, timetable, by=operator(operator_name))
    show_document("schedule", made, as_json=as_json)


@schedules.command("list")
@click.option("--org", help="Only this org: its id or name.")
@json_option
def list_schedules(org: str | None, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List schedules and when they are due next."""
    with runtime().database.ledger() as tx:
        found = stored.listed(tx, orgs.find_named(tx, org))
    show_rows(found, LINE, as_json=as_json)


@schedules.command("pause")
@name_argument
@org_option
@operator_option
@json_option
def pause_schedule(name: str, org: str, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Let a schedule enqueue nothing until it is resumed."""
    with runtime().database.ledger() as tx:
        paused = stored.pause(tx, orgs.find(tx, org), name, by=operator(operator_name))
    show_document("schedule", paused, as_json=as_json)


@schedules.command("resume")
@name_argument
@org_option
@operator_option
@json_option
def resume_schedule(name: str, org: str, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Let a schedule go on with its next due time; what lay in the pause is not made up for."""
    with runtime().database.ledger() as tx:
        resumed = stored.resume(tx, orgs.find(tx, org), name, by=operator(operator_name))
    show_document("schedule", resumed, as_json=as_json)


@schedules.command("remove")
@name_argument
@org_option
@operator_option
@json_option
def remove_schedule(name: str, org: str, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Forget a schedule; the jobs that it enqueued stay."""
    with runtime().database.ledger() as tx:
        removed = stored.remove(tx, orgs.find(tx, org), name, by=operator(operator_name))
    show_document("schedule", removed, as_json=as_json)
