"""What every sub-command shares: answers as tables or as JSON, both redacted; failures as one line; who is at it."""

import getpass
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any, Never
from uuid import UUID, uuid4

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from domain.documents.faults import RefusedDocument
from domain.instants import written
from domain.jobs.failures import Failure, Invalid
from domain.jobs.job import ActorType, JsonObject, Origin
from domain.orgs.privacy.redaction import redact, redact_document
from observability import logs
from operations.operation import Record
from storage.postgres.execution import DatabaseError, diagnosis_of

NOTHING: tuple[object, ...] = (None, "", [], {})
"""What a field holds that is not set."""
WIDTH_WITHOUT_TERMINAL = 200
LENGTH_OF_ID = 36
"""A pipe has no width; ids must not be folded there."""

json_option = click.option("--json", "as_json", is_flag=True, help="Answer with JSON instead of a table.")
operator_option = click.option(
    "--as",
    "operator_name",
    default=getpass.getuser,
    show_default="your login",
    help="Who does it, for the audit log.",
)


class FleetCommand(click.Command):
    """A command that ends with one line and exit status 1 when a failure of ours escapes it."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's signature
        """Run the command; under `celery`, records go to standard error, out of the answer's way."""
        if ctx.obj is not None:
            logs.configure("WARNING")
        try:
            return super().invoke(ctx)
        except (Failure, DatabaseError) as error:
            line = failure_line(error)
            if line is None:
                raise
            raise click.ClickException(shown(redact(line))) from error


class FleetGroup(FleetCommand, click.Group):
    """A group whose commands end so."""


def failure_line(error: Failure | DatabaseError) -> str | None:
    """What a command ends with, a line for each mistake in a document; None for what only a traceback explains."""
    diagnosis = diagnosis_of(error)
    if diagnosis is not None:
        return f"PostgreSQL: {diagnosis.finding}; {diagnosis.remedy}"
    if isinstance(error, RefusedDocument):
        return "\n".join(error.lines)
    return f"{error.code}: {error.reason}" if isinstance(error, Failure) else None


def diagnosis_line(failure: Failure) -> str:
    """Why one of several things was not done: the reason, and for a trouble of the installation its remedy."""
    diagnosis = diagnosis_of(failure)
    return failure.reason if diagnosis is None else f"PostgreSQL: {diagnosis.finding}; {diagnosis.remedy}"


def operator(name: str) -> Origin:
    """A person at the command line, as the cause of what follows."""
    return Origin(ActorType.USER, f"operator:{name}"[:200], request_id=str(uuid4()))


def show_rows(rows: Sequence[object], columns: Sequence[str], *, as_json: bool, screen: Console | None = None) -> None:
    """Print rows, as JSON with all that is known of them, or as a table of the named columns."""
    documents = [_document(row) for row in rows]
    if as_json:
        _print_json(documents)
        return
    table = Table(header_style="bold")
    for column in columns:
        # Folded, never cut; an id in one line, for the next command is given it.
        has_ids = any(isinstance(document.get(column), UUID) for document in documents)
        table.add_column(column, overflow="fold", min_width=LENGTH_OF_ID if has_ids else None)
    for document in documents:
        table.add_row(*(Text(shown(document.get(column))) for column in columns))
    (screen or console()).print(table if rows else "none")


def show_document(title: str, document: object, *, as_json: bool) -> None:
    """Print one thing: as JSON with all its fields, or as a table of those that are set."""
    facts = _document(document)
    if as_json:
        _print_json(facts)
        return
    table = Table("", title, header_style="bold")
    table.columns[1].overflow = "fold"
    for name, value in facts.items():
        if value not in NOTHING:
            table.add_row(name, Text(shown(value)))
    console().print(table)


def show_json(document: object) -> None:
    """Print what only JSON can say, with secrets taken out."""
    plain = json.loads(json.dumps(document, default=_plain))
    answer: Any = redact({"answer": plain})
    _print_json(answer["answer"])


def console() -> Console:
    """The terminal, or a wide page when there is none."""
    found = Console()
    return found if found.is_terminal else Console(width=WIDTH_WITHOUT_TERMINAL)


def shown(value: object) -> str:
    """A value as text for a terminal, without characters that could command it."""
    match value:
        case None:
            text = ""
        case datetime():
            text = value.isoformat(timespec="seconds")
        case dict() | list() | tuple():
            text = json.dumps(value, default=_plain, ensure_ascii=False)
        case _:
            text = str(value)
    return "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in text)


def json_object(text: str, field: str) -> JsonObject:
    """Read a JSON object from an option, or from standard input when the option is `-`; raises `Invalid`."""
    try:
        found = json.loads(sys.stdin.read() if text == "-" else text, parse_constant=_no_json)
    except RecursionError:
        raise Invalid(field, "is nested too deeply") from None
    except ValueError as error:
        raise Invalid(field, f"is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise Invalid(field, "is no JSON object")
    return found


def _no_json(word: str) -> Never:
    """For `NaN` and `Infinity`, which Python reads and PostgreSQL refuses without a field."""
    raise ValueError(f"{word} is no number of JSON")


def _document(row: object) -> dict[str, Any]:
    if isinstance(row, Record):
        return row.without_secrets()
    facts = asdict(row) if is_dataclass(row) and not isinstance(row, type) else row
    if not isinstance(facts, Mapping):
        raise TypeError(f"{type(row).__name__} has no fields")
    return redact_document(facts)


def _print_json(document: object) -> None:
    click.echo(json.dumps(document, default=_plain, indent=2))


def _plain(value: object) -> str:
    return written(value) if isinstance(value, datetime) else str(value)
