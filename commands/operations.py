"""The commands of all areas: a group for each, a command for each operation, made from its declaration."""

from collections.abc import Mapping, Sequence
from enum import Enum
from types import NoneType, SimpleNamespace, UnionType
from typing import IO, Annotated, Any, Union, get_args, get_origin
from uuid import UUID

import click
from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

from commands.answers import (
    FleetCommand,
    FleetGroup,
    diagnosis_line,
    json_object,
    json_option,
    operator,
    operator_option,
    show_document,
    show_rows,
)
from domain.instants import written
from domain.jobs.failures import Failure
from domain.orgs.access.api_keys import Role
from engine.enqueue import enqueue
from engine.runtime import runtime
from operations.areas import areas
from operations.call import Call
from operations.mail.accounts import account_of
from operations.operation import DOCUMENT, Area, File, Operation, Option, checked
from operations.pages import Page, Window
from providers.artifacts.obstore_store import ObstoreArtifacts
from storage.orgs import orgs

MOST_ROWS = 10_000
MOST_READ = 1024 * 1024
"""Bytes of a file; every document is refused that is as long."""
STANDARD_INPUT = "<stdin>"
"""The name of a file that has none."""
ACCOUNT = "account_id"
"""The parameter by which an operation names a mailbox; a command takes the mailbox's address, too."""


def group_of(area: Area) -> click.Command:
    """The area's group, with a command for each operation; an area of one operation with its name is that command."""
    if [one.command for one in area.operations] == [area.name]:
        return command_of(area.operations[0])
    return FleetGroup(area.name, {one.command: command_of(one) for one in area.operations}, help=area.purpose)


def command_of(operation: Operation[..., Any]) -> click.Command:
    """The operation's command."""

    def run(as_json: bool, **given: Any) -> None:  # noqa: ANN401, FBT001 - what the command line says
        org = given.pop("org") if operation.org != "never" else None
        call = call_of(given.pop("operator_name", None), org)
        if operation.many:
            (name,) = operation.positional
            each = [_arguments(operation, call, given | {name: value}) for value in given.pop(name)]
            do_each(operation, call, each, as_json=as_json)
            return
        window = {"window": Window(given.pop("limit"), given.pop("cursor"))} if operation.is_paged else {}
        answer = operation(call, **window, **_arguments(operation, call, given))
        show(f"{operation.area} {operation.command}", answer, operation, as_json=as_json)

    fields = operation.parameters.model_fields
    params: list[click.Parameter] = [
        _argument(name, field, many=operation.many) if name in operation.positional else _option(name, field)
        for name, field in fields.items()
    ]
    if operation.org != "never":
        is_required, words = operation.org == "required", "The org's id or name."
        params.append(
            click.Option(["--org"], required=is_required, help=words if is_required else f"Only this: {words}")
        )
    if operation.is_paged:
        bounds = click.IntRange(1, MOST_ROWS)
        params.append(click.Option(["--limit"], type=bounds, default=50, show_default=True, help="How many at most."))
        params.append(click.Option(["--cursor"], help="Go on after the list before, which has named this."))
    command = FleetCommand(operation.command, callback=run, params=params, help=operation.text)
    if operation.events:
        operator_option(command)
    json_option(command)
    return command


def call_of(operator_name: str | None, org: str | None) -> Call:
    """A call by an operator at the terminal, who may do everything; in an org, if one is named."""
    origin, process = operator(operator_name or "reading"), runtime()
    with process.database.ledger() as tx:
        org_id = orgs.find_named(tx, org)
    return Call(
        origin=origin,
        name=origin.actor_id,
        role=Role.OPERATOR,
        database=process.database,
        settings=process.settings,
        enqueue=enqueue,
        org_id=org_id,
        remove_files=lambda places: ObstoreArtifacts(process.settings.artifacts_url).delete(places),
    )


def show(title: str, answer: Any, operation: Operation[..., Any], *, as_json: bool) -> None:  # noqa: ANN401 - a record or a page
    """Print a record, or a page of records as rows; where more follow, say on standard error how to go on."""
    if not isinstance(answer, Page):
        show_document(title, answer, as_json=as_json)
        for name in () if as_json else operation.record.shown_once:
            # In a line of its own: a table folds what is longer than it is wide.
            click.echo(f"\n{getattr(answer, name)}\n\nKeep it now: it is not shown again.")
        return
    columns = operation.record.columns or tuple(operation.record.model_fields)
    show_rows(answer.items, columns, as_json=as_json)
    if answer.next_cursor:
        looked = f"looked back to {written(answer.looked_back_to)}; " if answer.looked_back_to else ""
        click.echo(f"{looked}more: --cursor {answer.next_cursor}", err=True)


def do_each(operation: Operation[..., Any], call: Call, each: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    """Do a deed for several things, so that one that cannot be done keeps no other back; exit status 1 then."""
    (name,), rows, is_whole = operation.positional, [], True
    for arguments in each:
        try:
            rows.append(operation(call, **arguments).model_dump())
        except Failure as failure:
            rows.append({name: arguments[name], "state": "unchanged", "trouble": diagnosis_line(failure)})
            is_whole = False
    columns = dict.fromkeys((name, *operation.record.model_fields, "state", "trouble"))
    show_rows(rows, [column for column in columns if any(column in row for row in rows)], as_json=as_json)
    if not is_whole:
        click.get_current_context().exit(1)


def _arguments(operation: Operation[..., Any], call: Call, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the command line says of the operation's parameters, as their types have it; raises `Invalid`."""
    said = {name: value for name, value in given.items() if value is not None and value != ()}
    fields = operation.parameters.model_fields
    for name, value in said.items():
        if name == ACCOUNT:
            with call.reading() as tx:
                said[name] = account_of(tx, value, call.org_id).account_id
        elif name == DOCUMENT:
            said[name] = file_of(value)
        elif _kind(fields[name])[0] is dict:
            said[name] = json_object(value, name)
    return checked(operation.parameters, said)


def file_of(file: IO[bytes]) -> File:
    """A file that the command line names, of which no more is read than may be taken."""
    return File(getattr(file, "name", STANDARD_INPUT), file.read(MOST_READ))


def _argument(name: str, field: FieldInfo, *, many: bool) -> click.Argument:
    if name == DOCUMENT:
        return click.Argument([name], type=click.File("rb"), metavar="FILE")
    kind, _ = _kind(field)
    return click.Argument(
        [name],
        type=_type(name, kind, field),
        required=field.is_required(),
        nargs=-1 if many else 1,
        metavar="ACCOUNT" if name == ACCOUNT else None,
    )


def _option(name: str, field: FieldInfo) -> click.Option:
    kind, is_list = _kind(field)
    named = next((one.name for one in field.metadata if isinstance(one, Option)), None)
    flag = named or "--" + ("account" if name == ACCOUNT else name).replace("_", "-")
    if kind is bool:
        both = flag if field.default is False or "/" in flag else f"{flag}/--no-{flag.removeprefix('--')}"
        return click.Option([both, name], default=None, is_flag=True, help=field.description)
    return click.Option(
        [flag, name],
        type=_type(name, kind, field),
        multiple=is_list,
        required=field.is_required(),
        help=field.description,
        show_default=None if field.is_required() or field.default is None else str(field.default),
    )


def _kind(field: FieldInfo) -> tuple[Any, bool]:
    """The type of a parameter's values, and whether it takes several."""
    kind = field.annotation
    if get_origin(kind) in {Union, UnionType}:
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    origin = get_origin(kind) or kind
    if origin in {list, tuple}:
        return get_args(kind)[0], True
    return (dict if origin is dict else kind), False


def _type(name: str, kind: Any, field: FieldInfo) -> click.ParamType[Any]:  # noqa: ANN401 - any type of a parameter
    if name == ACCOUNT:
        return click.STRING
    if isinstance(kind, type) and issubclass(kind, Enum):
        return click.Choice([one.value for one in kind])
    if kind is int:
        least = next((one.ge for one in field.metadata if isinstance(one, Ge)), None)
        most = next((one.le for one in field.metadata if isinstance(one, Le)), None)
        return click.IntRange(least, most)  # type: ignore[arg-type] # bounds of an integer
    return click.UUID if kind is UUID else click.STRING


AREAS = SimpleNamespace(**{area.name: group_of(area) for area in areas()})
"""The groups by their names, as the entry points of the package name them."""
