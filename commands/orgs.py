"""`celery -A tasks orgs`: `move` and `stay`, beside what the area declares. Only they get the owners' logins."""

from contextlib import ExitStack

import click
from pydantic import SecretStr

from commands.answers import json_option, operator, operator_option, show_document
from commands.operations import AREAS
from domain.jobs.failures import Conflict, Invalid, Transient
from engine.runtime import Runtime, runtime
from operations.orgs import moves, stays
from operations.orgs.moves import PATIENCE, Cells, Patience
from operations.orgs.stays import OtherLedger
from storage.orgs.owning import owners_session
from storage.postgres.execution import DatabaseUnavailable

orgs: click.Group = AREAS.orgs


@orgs.command("move")
@click.argument("org")
@click.option("--to", required=True, help="The cell, as POSTROOM_CELL_DATABASE_URLS names it.")
@click.option("--files-are-there", is_flag=True, help="The other cell reads the org's files: one store, or a copy.")
@click.option(
    "--within",
    "within_s",
    type=click.FloatRange(0, 86_400),
    default=PATIENCE.drained_within_s,
    show_default=True,
    help="Seconds that jobs may run on before they are given back.",
)
@operator_option
@json_option
def move_org(
    org: str,
    to: str,
    files_are_there: bool,  # noqa: FBT001 - a flag of the command line
    within_s: float,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Move an org, by id or name, to another cell: all its rows, in one snapshot, checked by count and sum.

    Nothing of it runs meanwhile. Cut off, the move goes on when it is asked for again; done before, it says so.
    """
    process = runtime()
    given = _url_of(process, to, "to")
    with (
        owners_session(process.settings.database_url, "database_url") as source,
        owners_session(given, "cell_database_urls") as target,
    ):
        cells = Cells(database=process.database, source=source, target=target, here=process.settings.cell, there=to)
        moved = moves.move(
            cells, org, by=operator(operator_name), has_files=files_are_there, patience=Patience(within_s)
        )
    show_document("orgs", moved, as_json=as_json)


@orgs.command("stay")
@click.argument("org")
@click.option("--cell", help="The cell in which a copy may be; by default that to which the org is on its way.")
@click.option("--copy-stays", is_flag=True, help="Leave the other cell alone, which is away; remove the copy later.")
@operator_option
@json_option
def stay_org(
    org: str,
    cell: str | None,
    copy_stays: bool,  # noqa: FBT001 - a flag of the command line
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Let an org stay whose move was begun and has not ended: its jobs go on here, and the other cell's copy goes.

    Where the org goes on already and a copy was left, this removes it: name its cell.
    """
    process = runtime()
    there = cell or stays.on_its_way_to(process.database, org)
    if there is None:
        raise Conflict("the org is not on its way; name a cell that has a copy of it: --cell")
    with ExitStack() as stack:
        source = stack.enter_context(owners_session(process.settings.database_url, "database_url"))
        other = None if copy_stays else _other_ledger(process, there, stack)
        stayed = stays.stay(source, process.settings.cell, org, other=other, by=operator(operator_name))
    show_document("orgs", stayed, as_json=as_json)


def _other_ledger(process: Runtime, cell: str, stack: ExitStack) -> OtherLedger:
    """Log in to the ledger in which a copy may be; raises `Transient` that says what to do while it is away."""
    given = _url_of(process, cell, "cell")
    try:
        return OtherLedger(cell, stack.enter_context(owners_session(given, "cell_database_urls")))
    except DatabaseUnavailable as away:
        raise Transient(
            f"the ledger of the cell {cell} is away ({away.reason}), and may have a copy of the org: start it and ask"
            f" again; or let the org go on now with --copy-stays, and once that cell is back remove the copy with"
            f" --cell {cell}"
        ) from away


def _url_of(process: Runtime, cell: str, option: str) -> SecretStr:
    given = process.settings.cell_database_urls.get(cell)
    if given is None:
        raise Invalid(option, f"is none of the cells in POSTROOM_CELL_DATABASE_URLS: {cell}")
    return given
