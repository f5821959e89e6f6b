"""`celery -A tasks workflows`: `validate` with a line for each fault, and `graph`, beside what the area declares."""

from pathlib import Path
from typing import IO
from uuid import UUID

import click

from commands.answers import json_option, show_document, shown
from commands.operations import AREAS, call_of, file_of
from domain.jobs.failures import Invalid
from domain.orgs.privacy.redaction import redact
from operations.workflows.definitions import validate_workflow
from operations.workflows.runs import draw_run, draw_workflow

workflows: click.Group = AREAS.workflows


@workflows.command("validate")
@click.argument("document", type=click.File("rb"), metavar="FILE")
@click.option("--org", required=True, help="The org's id or name.")
@json_option
@click.pass_context
def validate(context: click.Context, document: IO[bytes], org: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Check the definition in FILE, YAML or JSON, and say all that is wrong with it; exit status 1 if anything is."""
    file = file_of(document)
    found = validate_workflow(call_of(None, org), file)
    if as_json:
        show_document("workflow", found.model_dump(), as_json=True)
    for one in [] if as_json else found.faults:
        where = file.name if one.line is None else f"{file.name}:{one.line}:{one.column}"
        click.echo(shown(redact(f"{where}: {one.pointer}: {one.reason}")))
    if found.valid and not as_json:
        click.echo(f"{file.name}: {found.name} has {found.nodes} nodes and no fault")
    if not found.valid:
        context.exit(1)


@workflows.command("graph")
@click.argument("run_id", required=False, type=click.UUID)
@click.option("--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file, as SVG.")
@click.option("--workflow", help="Draw a workflow in the place of a run.")
@click.option("--version", type=click.IntRange(1), help="Of the workflow; without it, the latest.")
@click.option("--org", help="The org's id or name; needed for a workflow.")
def graph(run_id: UUID | None, output: Path, workflow: str | None, version: int | None, org: str | None) -> None:
    """Draw a run with how each of its nodes stands, or a workflow."""
    if (run_id is None) is (workflow is None):
        raise Invalid("run_id", "name either a run or a --workflow")
    call = call_of(None, org)
    picture = draw_workflow(call, workflow, version) if workflow is not None else draw_run(call, _named(run_id))
    try:
        output.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise Invalid("output", f"{output}: {error.strerror}") from None


def _named(run_id: UUID | None) -> UUID:
    if run_id is None:
        raise Invalid("run_id", "must be named")
    return run_id
