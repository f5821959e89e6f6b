"""Every route of the console, by role and scope: nothing of another org, and no change without the session's token."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import quote_plus, urlencode
from uuid import UUID, uuid4

import pytest
from fastapi.routing import APIRoute
from psycopg import Connection, Error
from psycopg.sql import SQL, Identifier
from psycopg.types.json import Jsonb

from domain.orgs.access.operators import CONSOLE, NEW_PASSWORD, SIGN_IN, OperatorRole
from gateway.app import create_app
from gateway.console import pages
from gateway.console.forms import Field, fields_of
from operations.areas import areas
from operations.operation import Operation
from settings import Settings
from tests.doubles.factories import make_org
from tests.gateway.console.conftest import SignIn
from tests.gateway.console.signed import SignedBrowser
from tests.gateway.serving import HttpAnswer, ask
from tests.storage.postgres.row_makers import fill_every_table

MARKER, NOBODYS = "Zq7Theirs", "Zq7Nobody"
UUIDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{4}…[0-9a-f]{8}")
BY_HAND = {f"{CONSOLE}/{one.path}": one for one in pages.pages()}
OPERATIONS = {f"{CONSOLE}/{one.area}/{one.command}": one for area in areas() for one in area.operations}
BY_AREA = {f"{CONSOLE}/{area.name}": area for area in areas()}
STRANGERS = frozenset({SIGN_IN, NEW_PASSWORD})
"""Forms of whoever has no session yet."""
ANOTHER_TABLE = {
    "letter": "dead_letters", "event": "workflow_events", "approval": "mail_actions", "bulk": "bulk_actions",
    "definition": "workflow_definitions", "person": "collaborators", "item": "inbox_items", "email": "email_orders",
}  # fmt: skip
"""Tables whose ids a parameter names by another word."""

AnyOperation = Operation[..., Any]


@dataclass(frozen=True)
class Others:
    """An org with a row in every table, of which each text that can carry a mark does."""

    org: UUID
    ids: Mapping[str, Sequence[str]]
    """By the name of a table, and of a column that holds ids."""
    texts: Mapping[tuple[str, str], str]
    """By table and column."""

    def id_of(self, name: str) -> str:
        """The id of theirs that a parameter means; any of theirs for one whose table has another name."""
        word = name.removesuffix("_id")
        found = [*self.ids.get(name, ()), *self.ids.get(ANOTHER_TABLE.get(word, f"{word}s"), ())]
        return (found or [str(self.org)])[0]

    def text_of(self, area: str, name: str) -> str:
        """The text of theirs that a parameter means."""
        return self.texts.get((area, name)) or next(
            (text for (_, one), text in self.texts.items() if one == name), f"{MARKER}.x"
        )


def columns(database: Connection, kinds: Sequence[str]) -> list[tuple[str, str]]:
    """Table and column of the tables with orgs, of these types."""
    rows = database.execute(
        "select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0"
        " and not a.attisdropped where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')"
        " and not c.relispartition and format_type(a.atttypid, null) = any (%s)"
        " and exists (select from pg_attribute o where o.attrelid = c.oid and o.attname = 'org_id') order by 1, 2",
        (list(kinds),),
    )
    return [(str(table), str(column)) for table, column in rows]


@pytest.fixture
def others(database: Connection) -> Others:
    org = uuid4()
    fill_every_table(database, org)
    database.execute("update orgs set name = %s where id = %s", (f"{MARKER}.orgs.name", org))
    texts: dict[tuple[str, str], str] = {}
    ids: dict[str, list[str]] = {}
    for table, column in columns(database, ["text", "jsonb"]):
        if (table, column) == ("bulk_actions", "filter"):
            continue  # a filter is read as one
        text = f"{MARKER}.{table}.{column}"
        for value in (text, f'{{"note": "{text}"}}'):
            try:
                with database.transaction():
                    query = SQL("update {} set {} = %s where org_id = %s").format(Identifier(table), Identifier(column))
                    database.execute(query, (value, org))
            except Error:
                continue  # a state, a key that others name, a document of a shape: it carries no mark
            texts[table, column] = text
            break
    for table, column in columns(database, ["uuid"]):
        query = SQL("select {}::text from {} where org_id = %s").format(Identifier(column), Identifier(table))
        found = [str(one) for (one,) in database.execute(query, (org,)) if one is not None]
        ids.setdefault(table if column == "id" else column, found)
    assert len(texts) > 100  # most tables have one
    texts["jobs", "payload"] = f"{MARKER}.jobs.payload"
    made = Others(org, ids, texts)
    payload = {"note": texts["jobs", "payload"], **{name: made.id_of(name) for name in ("account_id", "job_id")}}
    database.execute("update jobs set payload = %s where org_id = %s", (Jsonb(payload), org))
    return made


def routes(settings: Settings, verb: str) -> list[APIRoute]:
    """The console's routes that take a verb, as the application has them."""
    found: list[APIRoute] = []

    def walk(those: Sequence[Any]) -> None:
        for one in those:
            if isinstance(one, APIRoute):
                found.append(one)
            walk(getattr(one, "routes", None) or getattr(getattr(one, "original_router", None), "routes", []))

    walk(create_app(settings).routes)
    return [one for one in found if one.path.startswith(CONSOLE) and verb in (one.methods or ())]


def places(settings: Settings, verb: str) -> Iterator[tuple[str, AnyOperation | None, Sequence[str]]]:
    """Every address below the console: its operation, if it is the page of one, and the query that its route takes."""
    for route in routes(settings, verb):
        query = [one.alias for one in route.dependant.query_params]
        match re.findall(r"\{(\w+)", route.path):
            case ["area", "command"]:
                for path, operation in OPERATIONS.items():
                    if verb == "GET" or operation.events:
                        yield path, operation, query
            case ["area"]:
                for path, area in BY_AREA.items():
                    listed = next((one for one in area.operations if one.command == "list"), None)
                    yield path, listed, query
            case _:
                path = re.sub(r"\{[^}]+\}", "x", route.path)
                yield path, OPERATIONS.get(path), [*query, *(BY_HAND[path].asks if path in BY_HAND else ())]


def typed_in(one: Field, operation: AnyOperation, others: Others, *, foreign: bool) -> str:
    """What somebody types who is after things of the others, or after what is not there."""
    match one.kind:
        case "id":
            return others.id_of(one.name) if foreign else str(uuid4())
        case "number":
            return str(one.least or 1)
        case "choice":
            return one.choices[0][0]
        case "time":
            return "2026-12-24T09:00Z"
        case "document":
            return "{}"
        case _:
            text = others.text_of(operation.area, one.name)
            return text if foreign else text.replace(MARKER, NOBODYS)


def asked(
    operation: AnyOperation | None, query: Sequence[str], others: Others, *, foreign: bool = True
) -> dict[str, str]:
    """The fields of a request about things of the others, or about nothing."""
    fields = {} if operation is None else {
        one.name: typed_in(one, operation, others, foreign=foreign)
        for one in fields_of(operation, {})
        if one.is_required or one.kind == "id"
    }  # fmt: skip
    ids = [name for name in query if name.endswith("_id")]
    by_hand = {
        name: typed_by_hand(name, others, foreign=foreign, is_line="payload" in query)
        for name in query
        if name in {"q", "payload"}
    }
    return by_hand | fields | {name: others.id_of(name) if foreign else str(uuid4()) for name in ids}


def typed_by_hand(name: str, others: Others, *, foreign: bool, is_line: bool) -> str:
    """What somebody types into a page by hand: a line of filters, a search, a part of a payload."""
    found = others.id_of("job_id") if foreign else str(uuid4())
    if name == "payload":
        return f"account_id={found}"
    return f"payload.job_id={found}" if is_line else found


def differing(answers: set[tuple[int, str]]) -> list[str]:
    """The statuses and the lines in which answers differ."""
    one, another = ({str(status), *text.splitlines()} for status, text in answers)
    return sorted(one ^ another)


def shows(body: bytes, typed: Mapping[str, str]) -> list[str]:
    """The marks in an answer, beside those that the browser itself has sent."""
    text = body.decode()
    for one in typed.values():
        if MARKER in one:
            text = text.replace(escape(one), "")
    return re.findall(rf"{MARKER}[\w.]*", text)


def rows_of(database: Connection, org: UUID) -> dict[str, str]:
    """What every table has of an org."""
    tables = sorted({table for table, _ in columns(database, ["uuid"])})
    digest = "select md5(coalesce(string_agg(t::text, ',' order by t::text), '')) from {} t where org_id = %s"
    found = {}
    for table in tables:
        row = database.execute(SQL(digest).format(Identifier(table)), (org,)).fetchone()
        assert row is not None
        found[table] = str(row[0])
    return found


def of_scopes(sign_in: SignIn, org: UUID, database: Connection, role: OperatorRole) -> list[SignedBrowser]:
    """Browsers of operators of one org, and of two."""
    return [sign_in(role, org), sign_in(role, org, make_org(database, "a third"))]


@pytest.mark.parametrize("role", list(OperatorRole))
def test_no_page_shows_an_operator_of_other_orgs_anything(
    sign_in: SignIn, settings: Settings, org: UUID, others: Others, database: Connection, role: OperatorRole
) -> None:
    before, troubles = rows_of(database, others.org), list[object]()
    outside: list[dict[str, str]] = [{"of_org": str(others.org)}, {}] if role is OperatorRole.ADMIN else []
    for browser in of_scopes(sign_in, org, database, role):
        for path, operation, query in places(settings, "GET"):
            typed = asked(operation, query, others)
            values = {"show_values": "yes"} if operation and operation.record.values else {}
            for named in ({"of_org": str(org)}, *outside):
                got = ask(
                    f"{browser.url}{path}?{urlencode({**typed, **named, **values})}",
                    headers={"Cookie": browser.cookie},
                )
                troubles += [(path, got.status, shown) for shown in shows(got.body, typed)]
                troubles += [(path, got.status, named)] if got.status >= 500 else []
    assert troubles == []
    assert rows_of(database, others.org) == before


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("org:{org}", 422),
        ("org:{name}", 422),
        ("type:gmail.sync payload.account_id={account}", 200),
        ("payload.job_id={job}", 200),
        ("payload.note={note}", 200),
    ],
)
def test_a_line_of_filters_finds_nothing_of_another_org(
    sign_in: SignIn, org: UUID, others: Others, database: Connection, line: str, status: int
) -> None:
    """The page of jobs has a language of its own, in which an org can be named."""
    said = {"account": others.id_of("account_id"), "job": others.id_of("job_id")}
    note = others.texts["jobs", "payload"]
    foreign = line.format(org=others.org, name=f"{MARKER}.orgs.name", note=note, **said)
    nobodys = line.format(
        org=uuid4(), name=f"{NOBODYS}.orgs.name", account=uuid4(), job=uuid4(), note=note.replace(MARKER, NOBODYS)
    )
    for browser in of_scopes(sign_in, org, database, OperatorRole.ADMIN):
        answers = set()
        for one in (foreign, nobodys):
            query = urlencode({"q": one, "of_org": str(org)})
            got = ask(f"{browser.url}{CONSOLE}/jobs?{query}", headers={"Cookie": browser.cookie})
            assert got.status == status
            text = got.body.decode().replace(escape(one), "LINE").replace(MARKER, NOBODYS)
            answers.add((got.status, UUIDS.sub("ID", text)))
            assert shows(got.body, {"org": f"{MARKER}.orgs.name", "line": foreign, "query": quote_plus(foreign)}) == []
        assert len(answers) == 1, differing(answers)


def test_a_line_of_filters_finds_what_is_of_the_org(admin: SignedBrowser, others: Others) -> None:
    """By the lines of the test before this, for whoever may see it."""
    (job,) = others.ids["jobs"]
    for word in (f"account_id={others.id_of('account_id')}", f"note={others.texts['jobs', 'payload']}"):
        query = urlencode({"q": f"payload.{word}", "of_org": str(others.org)})
        assert f"…{job[-8:]}" in admin.text(f"/jobs?{query}"), word


def test_no_filter_of_a_list_finds_anything_of_another_org(sign_in: SignIn, org: UUID, others: Others) -> None:
    """Each text, id and document by which a list can be narrowed, one by one, beside those that a page must have."""
    browser, troubles, tried = sign_in(OperatorRole.ADMIN, org), list[object](), 0
    for path, operation in OPERATIONS.items():
        if operation.events:
            continue
        for one in fields_of(operation, {}):
            if one.is_required or one.kind not in {"text", "lines", "document"}:
                continue
            typed = {**asked(operation, (), others), one.name: typed_in(one, operation, others, foreign=True)}
            query = urlencode({**typed, "of_org": str(org)})
            got = ask(f"{browser.url}{path}?{query}", headers={"Cookie": browser.cookie})
            troubles += [(path, one.name, shown) for shown in shows(got.body, typed)]
            troubles += [(path, one.name, got.status)] if got.status >= 500 else []
            tried += 1
    assert troubles == []
    assert tried > 20


def test_a_thing_of_another_org_looks_as_one_that_is_not_there(
    sign_in: SignIn, settings: Settings, org: UUID, others: Others
) -> None:
    browser, troubles = sign_in(OperatorRole.ADMIN, org), []
    for path, operation, query in places(settings, "GET"):
        answers = set()
        for foreign in (True, False):
            typed = asked(operation, query, others, foreign=foreign)
            got = ask(
                f"{browser.url}{path}?{urlencode({**typed, 'of_org': str(org)})}", headers={"Cookie": browser.cookie}
            )
            text = UUIDS.sub("ID", got.body.decode())
            for one in {one for one in typed.values() if MARKER in one or NOBODYS in one}:
                text = text.replace(escape(one), "ID")
            answers.add((got.status, text))
        if len(answers) != 1:
            troubles.append((path, differing(answers)))
    assert troubles == []


@pytest.mark.parametrize("role", [OperatorRole.SUPPORT, OperatorRole.ADMIN])
def test_no_deed_of_an_operator_of_other_orgs_changes_or_shows_anything(
    sign_in: SignIn, settings: Settings, org: UUID, others: Others, database: Connection, role: OperatorRole
) -> None:
    before = rows_of(database, others.org)
    troubles: list[object] = []
    for browser in of_scopes(sign_in, org, database, role):
        token = browser.token()
        for path, operation, query in places(settings, "POST"):
            typed = asked(operation, query, others)
            if path in STRANGERS or path.endswith("/sign-out"):
                continue
            for named in ({"of_org": str(org)}, {"of_org": str(others.org)}):
                form = {"token": token, "confirmed": "yes", **typed, **named}
                got = post(browser, path, form)
                troubles += [(path, got.status, shown) for shown in shows(got.body, typed)]
                troubles += [(path, got.status)] if got.status >= 500 else []
    assert troubles == []
    assert rows_of(database, others.org) == before


def test_a_session_without_its_token_changes_nothing(
    sign_in: SignIn, settings: Settings, org: UUID, others: Others, database: Connection
) -> None:
    browser, another = sign_in(), sign_in()
    before = rows_of(database, others.org), rows_of(database, org)
    forms: Sequence[dict[str, str]] = (
        {},
        {"token": ""},
        {"token": another.token()},
        {"token": browser.token(), "site": "cross-site"},
    )
    tried = 0
    for path, operation, query in places(settings, "POST"):
        if path in STRANGERS:
            continue
        for org_id in (org, others.org):
            typed = {**asked(operation, query, others), "of_org": str(org_id), "confirmed": "yes"}
            for form in forms:
                got = post(browser, path, {**typed, **form}, site=form.get("site", "same-origin"))
                assert (path, got.status) == (path, 403)
                tried += 1
    assert tried > 8 * 80
    assert (rows_of(database, others.org), rows_of(database, org)) == before
    assert browser.get().status == 200  # nor has anybody signed it out


def test_what_these_tests_look_for_is_there(admin: SignedBrowser, settings: Settings, others: Others) -> None:
    """An operator of all orgs sees marks on many pages, by the same requests."""
    seen = set()
    for path, operation, query in places(settings, "GET"):
        if path.endswith("/pulse"):
            continue  # a stream without end
        typed = asked(operation, query, others)
        got = ask(
            f"{admin.url}{path}?{urlencode({**typed, 'of_org': str(others.org)})}", headers={"Cookie": admin.cookie}
        )
        seen |= {path} if shows(got.body, typed) else set()
    assert len(seen) > 30, sorted(seen)


def post(browser: SignedBrowser, path: str, form: Mapping[str, str], site: str = "same-origin") -> HttpAnswer:
    headers = {
        "Cookie": browser.cookie, "Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": site,
    }  # fmt: skip
    return ask(f"{browser.url}{path}", urlencode(form).encode(), headers)
