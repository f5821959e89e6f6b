"""`celery -A tasks planning`: `import-file`, beside what the area declares."""

from pathlib import Path
from typing import Any

import click

from commands.artifacts import store_file
from commands.operations import AREAS, call_of, command_of
from domain.planning.files.artifacts import ANY_BYTES, UPLOAD, checked_facts
from operations.planning.files import import_availability

planning: click.Group = AREAS.planning

FILE = "artifact_id"
"""The option of `planning import` in whose place a file is named."""


def _with_file() -> click.Command:
    """The command that stores a file and orders its import, with the options of the order."""
    order = command_of(import_availability)

    def run(file: Path, **given: Any) -> None:  # noqa: ANN401 - what the command line says
        facts = checked_facts(UPLOAD, file.name, ANY_BYTES)
        kept = store_file(call_of(given["operator_name"], given["org"]), file, facts)
        click.get_current_context().invoke(order, artifact_id=str(kept.artifact_id), **given)

    params = [one for one in order.params if one.name != FILE]
    argument = click.Argument(["file"], type=click.Path(exists=True, dir_okay=False, path_type=Path))
    return click.Command("import-file", callback=run, params=[*params, argument], help="Store a FILE, and import it.")


planning.add_command(_with_file())
