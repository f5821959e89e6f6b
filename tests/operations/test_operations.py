"""Declarations of operations: roles, pages, audit events and keys, by command and by HTTP, of an area made for it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, NamedTuple
from uuid import UUID, uuid4

import pytest
from fastapi.testclient import TestClient
from psycopg import Connection
from pydantic import Field, TypeAdapter, ValidationError

from commands.operations import command_of
from domain.jobs.failures import Conflict, Forbidden, Invalid
from domain.jobs.queues import Queue
from domain.orgs.access.api_keys import Role
from engine.runtime import Runtime
from gateway.api.operations import router_of
from gateway.app import create_app
from operations.areas import areas
from operations.call import Call
from operations.operation import Area, Operation, OperatorsOnly, Option, Reason, Record, Route
from operations.pages import Page, Window, write_cursor
from settings import Settings
from storage.postgres.database import Database
from tests.commands.calling import answer, call
from tests.doubles.calls import call_by
from tests.gateway.api.conftest import give_key
from tools.operations_reference import NOTHING, cells

NOTES = Area("notes", "Notes of an org, made for this test.")


class NoteView(Record):
    """A note."""

    plural: ClassVar = "notes"
    columns: ClassVar = ("number", "text")
    number: int
    text: str
    token: str = "sk-ant-api03-" + "a" * 40


class NotePosition(NamedTuple):
    number: int


class TitlePosition(NamedTuple):
    title: str


@NOTES.look("list", Route("GET", "/notes"), org="required")
def list_notes(
    call: Call,
    window: Window,
    *,
    queue: Annotated[list[Queue] | None, Field(description="Only these.")] = None,
    least: Annotated[int, Field(ge=0, le=9, description="From this number on."), Option("--from")] = 0,
) -> Page[NoteView]:
    """List notes."""
    after = window.after(NotePosition)
    first = least if after is None else after.number + 1
    rows = range(first, 5)[: window.rows]
    words = f"{call.org} {','.join(queue or ())}"
    return window.page(rows, lambda number: NoteView(number=number, text=words), NotePosition)


@NOTES.deed("write", Route("POST", "/notes/{number}/write"), events=("note.written",), org="optional", role=Role.WRITER)
def write_note(call: Call, number: int, *, text: str, forgets: bool = False, reason: Reason = None) -> NoteView:
    """Write a note."""
    with call.writing() as tx:
        tx.raw("update orgs set name = %(text)s where id = %(org)s", {"text": text, "org": call.org})
        if not forgets:
            call.audit(tx, call.org, {"number": number, "reason": reason})
    return NoteView(number=number, text=text)


class MadeNote(Record):
    """A note that was made."""

    note_id: UUID


@NOTES.deed("make", Route("POST", "/notes", location="/v1/notes/{note_id}"), events=("note.made",), keyed=True)
def make_note(call: Call, *, text: str) -> MadeNote:
    """Make a note; once per `Idempotency-Key`."""
    with call.writing() as tx:
        (note_id,) = call.once(tx, lambda: [uuid4()])
        if not call.is_replayed:
            call.audit(tx, call.org, {"text": text})
    return MadeNote(note_id=note_id)


@NOTES.deed("burn", OperatorsOnly("notes of all orgs burn"), events=("note.burned",))
def burn_notes(call: Call) -> Record:
    """Burn all notes."""
    raise AssertionError(f"nobody burns notes in this test: {call}")


def org_name(database: Connection, org: UUID) -> str:
    row = database.execute("select name from orgs where id = %s", (org,)).fetchone()
    assert row is not None
    return str(row[0])


def test_no_cell_of_the_table_of_operations_is_empty() -> None:
    lines = [(operation, cells(operation)) for area in areas() for operation in area.operations]
    assert lines
    for operation, line in lines:
        assert all(cell.strip(" `:") for cell in line), line
        assert operation.text, line
        writes = isinstance(operation.route, Route) and operation.route.verb != "GET"
        assert not (writes and line[-1] == NOTHING), f"{line}: a deed without an audit event"
        described = operation.parameters.model_fields.items()
        assert all(field.description for name, field in described if name not in operation.positional), line


@pytest.mark.parametrize("text", ["a\0b", "\udc80"])
def test_a_text_that_nobody_could_keep_is_refused_by_its_field(store: Database, text: str) -> None:
    """Whatever operation takes it: PostgreSQL does not say which value it refused."""
    texts = [
        (operation, name)
        for area in areas()
        for operation in area.operations
        for name, field in operation.parameters.model_fields.items()
        if field.annotation in {str, str | None}
    ]
    assert {name for _, name in texts} > {"name", "reason", "label_id", "cron"}
    for operation, name in texts:
        with pytest.raises(Invalid) as refused:
            operation(call_by("ada", store), **{name: text})
        assert refused.value.field == name


def test_commands_and_routes_of_operations_are_named_once() -> None:
    operations = [operation for area in areas() for operation in area.operations]
    for names in (
        [(one.area, one.command) for one in operations],
        [one.name for one in operations],
        [(one.route.verb, one.route.path) for one in operations if isinstance(one.route, Route)],
    ):
        assert len(names) == len(set(names))


INSTANTS = [
    (operation, name)
    for area in areas()
    for operation in area.operations
    if operation.events
    for name, shown in operation.parameters.model_json_schema().get("properties", {}).items()
    if "date-time" in {one.get("format") for one in (shown, *shown.get("anyOf", ()))}
]


@pytest.mark.parametrize(("operation", "name"), INSTANTS, ids=lambda one: getattr(one, "name", one))
def test_each_instant_is_taken_with_its_offset_and_kept_in_utc(operation: Operation[..., Any], name: str) -> None:
    taken = TypeAdapter(operation.hints[name])
    no_offset = () if name == "at" else ("2026-05-01T08:00:00",)  # a reminder's time may be what its zone's clocks show
    for said in (*no_offset, "2026-05-01", 1_777_622_400, "1777622400"):
        with pytest.raises(ValidationError):
            taken.validate_python(said)
    kept = taken.validate_python("2026-05-01t10:00+0200")
    assert kept == datetime(2026, 5, 1, 8, tzinfo=UTC)
    assert name == "at" or kept.tzinfo is UTC


def test_the_operations_that_take_an_instant_are_found() -> None:
    assert {name for _, name in INSTANTS} >= {"starts_at", "ends_at", "run_at", "at"}


def test_a_role_that_is_too_small_is_refused(store: Database, org: UUID, database: Connection) -> None:
    with pytest.raises(Forbidden, match="it takes the role writer"):
        write_note(call_by("eve", store, role=Role.READER, org_id=org), 1, text="new")
    assert org_name(database, org) != "new"


def test_a_deed_that_writes_no_event_is_undone(store: Database, org: UUID, database: Connection) -> None:
    with pytest.raises(RuntimeError, match=r"none of note\.written"):
        write_note(call_by("ada", store, org_id=org), 1, text="new", forgets=True)
    assert org_name(database, org) != "new"
    write_note(call_by("ada", store, org_id=org), 1, text="new", reason="why not")
    assert org_name(database, org) == "new"
    rows = database.execute("select event, actor_id, org_id, data from audit_entries where event like 'note.%'")
    assert rows.fetchall() == [("note.written", "ada", org, {"number": 1, "reason": "why not"})]


@pytest.mark.parametrize("cursor", ["x", "!", "bnVsbA", write_cursor(("a",)), write_cursor((1, 2)), "\u20ac"])
def test_a_cursor_of_another_list_is_refused(cursor: str) -> None:
    with pytest.raises(Invalid, match="cursor: is no cursor of this list"):
        Window(1, cursor).after(NotePosition)


def test_a_cursor_with_text_that_nobody_could_keep_is_none_of_a_list() -> None:
    with pytest.raises(Invalid, match="cursor: is no cursor of this list"):
        Window(1, write_cursor(("a\0",))).after(TitlePosition)
    assert Window(1, write_cursor(("a",))).after(TitlePosition) == TitlePosition("a")


def test_a_command_takes_arguments_options_and_the_org(process: Runtime, org: UUID, database: Connection) -> None:
    assert process.database is not None
    listed, written = command_of(list_notes), command_of(write_note)
    rows = answer(listed, "--org", org, "--queue", "critical", "--queue", "default", "--from", 1, "--limit", 2)
    assert [(row["number"], row["text"]) for row in rows] == [(n, f"{org} critical,default") for n in (1, 2)]
    assert rows[0]["token"] == "[redacted]"
    shown = call(listed, "--org", org, "--limit", 4)
    assert shown.exit_code == 0
    cursor = shown.stderr.removeprefix("more: --cursor ").strip()
    assert [row["number"] for row in answer(listed, "--org", org, "--cursor", cursor)] == [4]
    assert answer(written, 7, "--org", org, "--text", "by command", "--as", "ada")["number"] == 7
    assert org_name(database, org) == "by command"
    for words in (("--from", 10), ("--queue", "none"), ("--limit", 0), ()):
        assert call(listed, *(() if not words else ("--org", org)), *words).exit_code == 2


@pytest.fixture
def gateway(settings: Settings, process: Runtime) -> Iterator[TestClient]:
    """A gateway that serves the area, too."""
    assert process.database is not None
    app = create_app(settings)
    app.include_router(router_of(NOTES))
    with TestClient(app) as served:
        yield served


def test_a_route_takes_ids_filters_and_bodies(gateway: TestClient, store: Database, org: UUID) -> None:
    headers = {role: {"Authorization": f"Bearer {give_key(store, org, role)[0].text}"} for role in Role}
    reader, writer = headers[Role.READER], headers[Role.WRITER]
    listed = gateway.get("/v1/notes?queue=critical&queue=default&least=1&limit=2", headers=reader).json()
    assert [(one["number"], one["text"]) for one in listed["notes"]] == [
        (number, f"{org} critical,default") for number in (1, 2)
    ]
    assert listed["notes"][0]["token"] == "[redacted]"
    rest = gateway.get(f"/v1/notes?cursor={listed['next_cursor']}", headers=reader).json()
    assert ([one["number"] for one in rest["notes"]], rest["next_cursor"]) == ([3, 4], None)
    for query, field in (
        ("least=10", "least"),
        ("queue=none", "queue"),
        ("limit=201", "limit"),
        ("cursor=x", "cursor"),
    ):
        refused = gateway.get(f"/v1/notes?{query}", headers=reader)
        assert (refused.status_code, refused.json()["field"]) == (422, field)
    assert gateway.post("/v1/notes/7/write", json={"text": "new"}, headers=reader).status_code == 403
    assert gateway.post("/v1/notes/7/write", json={}, headers=writer).json()["field"] == "text"
    assert gateway.post("/v1/notes/7/write", json={"text": "new"}, headers=writer).json()["number"] == 7
    assert gateway.post("/v1/notes/burn", headers=headers[Role.OPERATOR]).status_code == 404


def test_a_request_that_is_sent_again_is_answered_with_what_the_first_made(
    gateway: TestClient, store: Database, org: UUID, database: Connection
) -> None:
    headers = {"Authorization": f"Bearer {give_key(store, org, Role.OPERATOR)[0].text}", "Idempotency-Key": "a"}
    first, again = (gateway.post("/v1/notes", json={"text": "x"}, headers=headers) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert first.headers["Location"] == again.headers["Location"] == f"/v1/notes/{first.json()['note_id']}"
    assert gateway.post("/v1/notes", json={"text": "y"}, headers=headers).json()["field"] == "idempotency_key"
    assert database.execute("select count(*) from audit_entries where event = 'note.made'").fetchone() == (1,)


LOOKED = datetime(2026, 11, 26, tzinfo=UTC)


class LookedPosition(NamedTuple):
    at: datetime
    note_id: UUID


@NOTES.look("search", Route("GET", "/notes/search"), org="required", looks_back=True)
def search_notes(call: Call, window: Window) -> Page[NoteView]:
    """Find notes among those of a day; the first page finds none."""
    after = window.after(LookedPosition)
    rows = [] if after is None else [NoteView(number=1, text=str(call.org))]
    reached = LOOKED if after is None else None
    return window.page(rows, NoteView.model_validate, lambda _: LookedPosition(LOOKED, UUID(int=0)), reached=reached)


def test_a_list_that_stops_looking_says_how_far_it_looked(gateway: TestClient, store: Database, org: UUID) -> None:
    headers = {"Authorization": f"Bearer {give_key(store, org, Role.READER)[0].text}"}
    first = gateway.get("/v1/notes/search", headers=headers).json()
    assert (first["notes"], first["looked_back_to"]) == ([], "2026-11-26T00:00:00Z")
    second = gateway.get(f"/v1/notes/search?cursor={first['next_cursor']}", headers=headers).json()
    assert [one["number"] for one in second["notes"]] == [1]
    assert (second["next_cursor"], second["looked_back_to"]) == (None, None)
    shown = call(command_of(search_notes), "--org", org)
    assert shown.stderr.startswith("looked back to 2026-11-26T00:00:00Z; more: --cursor ")
    assert answer(command_of(search_notes), "--org", org, "--cursor", shown.stderr.split()[-1])[0]["number"] == 1


@NOTES.deed("shout", Route("POST", "/notes/{number}/shout"), events=("note.shouted",), org="required", many=True)
def shout_note(call: Call, number: int, *, text: str) -> NoteView:
    """Shout a note; nobody shouts the second."""
    if number == 2:
        raise Conflict("the second is whispered")
    with call.writing() as tx:
        call.audit(tx, call.org, {"number": number, "text": text})
    return NoteView(number=number, text=text)


def test_a_command_does_a_deed_for_each_and_ends_with_1_where_one_failed(process: Runtime, org: UUID) -> None:
    assert process.database is not None
    rows = answer(command_of(shout_note), 1, 2, 3, "--text", "x", "--org", org, status=1)
    assert [row["number"] for row in rows] == [1, 2, 3]
    assert [row.get("trouble") for row in rows] == [None, "the second is whispered", None]
    assert [row["number"] for row in answer(command_of(shout_note), 4, "--text", "x", "--org", org)] == [4]
