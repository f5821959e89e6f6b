"""`celery -A tasks database`: bring the database to this release; `celery migrate` is Celery's own, for brokers."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

import click

from commands.answers import FleetGroup, json_option, operator, operator_option, show_document
from domain.instants import read_instant
from domain.jobs.failures import Invalid
from domain.jobs.job import ActorType, Origin
from engine.app import write_catalogue
from engine.catalogue import catalogue
from engine.runtime import runtime
from observability.on_demand import on_demand
from operations.orgs.restored_cells import FoundOrgs, find_orgs
from settings import Settings
from storage.jobs import effects
from storage.mail.accounts import spec026
from storage.mail.accounts.spec026 import AdoptedTables
from storage.orgs import moving
from storage.orgs.owning import OwnersSession, owners_session
from storage.postgres.database import Transaction
from storage.postgres.execution import DatabaseUnavailable
from storage.postgres.readiness import newest_revision

MIGRATOR = Origin(ActorType.SYSTEM, "migrate")


@click.group(cls=FleetGroup)
def database() -> None:
    """Bring the database to this release."""


@database.command("migrate")
@json_option
def migrate(as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Run the migrations that are missing, set up the roles, and publish the catalogue; harmless to repeat.

    Old tables become jobs (`adopt-spec026`) where each of their rows can; else they are left as they are, and the
    answer says why.
    """
    document = {"revision": newest_revision(), "job_types": [job_type.name for job_type in catalogue]}
    show_document("database", document | _upgrade(spec026.adopt_if_possible, MIGRATOR), as_json=as_json)


@database.command("adopt-spec026")
@operator_option
@json_option
def adopt_spec026(operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Make jobs of the old `email_processing_jobs`, and drop that table and `email_digest_batches`: all, or nothing.

    Brings the database to this release first. A row that cannot become a job is named with the reason, and everything
    is left as it was. Where there are no old tables, there is nothing to do.
    """
    report = _upgrade(spec026.adopt, operator(operator_name)) or {"old_tables": "there are none"}
    show_document("database", report, as_json=as_json)


def _name_cell(tx: Transaction) -> None:
    """Write which cell this is, for whoever moves an org here."""
    moving.name_cell(tx, runtime().settings.cell, runtime().sealer)


@database.command("restored")
@click.option("--to", "moment", required=True, help="The moment that was restored, such as 2026-11-30T04:12:00Z.")
@operator_option
@json_option
@click.pass_context
def restored(
    ctx: click.Context,
    moment: str,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Say that this database was restored from a backup; before the fleet is started.

    What jobs of before did outside after that moment is lost to the ledger. They ask the provider before they do it
    again, and where it cannot tell, a person decides.

    A cell asks the others in POSTROOM_CELL_DATABASE_URLS, as the owner: orgs that have moved there since leave this one
    again. Ends with status 1, and says what to do, where a cell could not be asked, or an org is in none.
    """
    try:
        lost_from = read_instant(moment)
    except ValueError as error:
        raise Invalid("to", str(error)) from None
    process, by = runtime(), operator(operator_name)
    with process.database.ledger() as tx:
        found = effects.doubt_since(tx, lost_from, by)
    orgs, to_do = FoundOrgs(), list[str]()
    if process.settings.cell:
        with ExitStack() as stack:
            others, to_do = _other_cells(process.settings, stack)
            if others:
                source = stack.enter_context(owners_session(process.settings.database_url, "database_url"))
                orgs = find_orgs(source, process.settings.cell, others, by=by)
    to_do += orgs.faults()
    show_document("restoration", asdict(found) | asdict(orgs) | {"to_do": to_do}, as_json=as_json)
    if to_do:
        ctx.exit(1)


def _other_cells(settings: Settings, stack: ExitStack) -> tuple[dict[str, OwnersSession], list[str]]:
    """The ledgers of other cells that can be asked, and what to do about those that cannot."""
    others, away = dict[str, OwnersSession](), dict[str, str]()
    for name, url in settings.cell_database_urls.items():
        try:
            others[name] = stack.enter_context(owners_session(url, "cell_database_urls"))
        except DatabaseUnavailable as error:
            away[name] = error.reason
    away |= {name: "is not in POSTROOM_CELL_DATABASE_URLS" for name in settings.cells if name not in others | away}
    if not others and not away:
        away = {"that has orgs of this one": "POSTROOM_CELL_DATABASE_URLS names none"}
    return others, [
        f"the cell {name} was not asked ({why}): an org that has moved there since would run in both. Name its ledger"
        " in POSTROOM_CELL_DATABASE_URLS and say this again, before anything of this cell starts"
        for name, why in away.items()
    ]


def _upgrade(adopt: Callable[[Transaction, Origin], AdoptedTables | Invalid | None], by: Origin) -> dict[str, object]:
    """Migrate, then adopt the old tables; returns what became of them, and nothing where there are none."""
    report: dict[str, object] = {}

    def adopt_old_tables(tx: Transaction) -> None:
        match adopt(tx, by):
            case AdoptedTables() as done:
                report["old_tables"] = asdict(done)
            case Invalid() as refusal:
                report["old_tables"] = f"left as they are: {refusal.reason}"

    upgrade: Any = on_demand("storage.postgres.migrate:upgrade")
    upgrade(runtime().settings, write_catalogue, _name_cell, adopt_old_tables)
    return report
