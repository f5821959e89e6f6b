"""`celery -A tasks orgs`: `move` and `stay`, beside what the area declares. Only they get the owners' logins."""

import click

from commands.answers import json_option, operator, operator_option, show_document
from commands.operations import AREAS
from domain.jobs.failures import Invalid
from engine.runtime import runtime
from operations.orgs import moves
from operations.orgs.moves import PATIENCE, Cells, Patience
from storage.orgs.owning import owners_session

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
    given = process.settings.cell_database_urls.get(to)
    if given is None:
        raise Invalid("to", f"is none of the cells in POSTROOM_CELL_DATABASE_URLS: {to}")
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
@operator_option
@json_option
def stay_org(org: str, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Let an org stay whose move was begun and has not ended: its jobs go on here."""
    org_id = moves.stay(runtime().database, org, by=operator(operator_name))
    show_document("orgs", {"org_id": org_id, "cell": runtime().settings.cell}, as_json=as_json)
