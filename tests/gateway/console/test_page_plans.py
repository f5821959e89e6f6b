"""Every page reads a bounded part of a large ledger: each is opened, and PostgreSQL says how its statements ran."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import psycopg
import pytest
from fastapi.testclient import TestClient
from psycopg import Connection
from psycopg.errors import Diagnostic
from psycopg.sql import SQL, Identifier
from pydantic import SecretStr
from sqlalchemy import event
from sqlalchemy.pool import Pool

from domain.orgs.access.operators import CONSOLE, OperatorRole
from engine.app import publish_catalogue
from engine.runtime import Runtime, install
from gateway.app import create_app
from gateway.console.forms import fields_of
from settings import Settings
from storage.postgres.database import Database
from tests.gateway.console.people import COOKIE, PUBLIC, Browser
from tests.gateway.console.signed import signed_cookie
from tests.gateway.console.test_scopes import Others, asked, columns, places, typed_in
from tests.servers.servers import TEMPLATE, SessionServers, temporary_database
from tests.storage.jobs.plans.explained import nodes
from tests.storage.jobs.plans.million import FILL_LISTS, ORGS, fill
from tests.storage.postgres.row_makers import fill_every_table, tenant_tables

MOST_BUFFERS = 5_000
"""Pages of PostgreSQL's that one statement may look at."""
LARGE = 10_000
"""Rows from which on a table is large."""
COPIES = 20_000
"""Rows of each other table that may grow, of one org."""
RANGES = ("1h", "1d", "35d", "400d")
ALONE = frozenset({"jobs", "dead_letters", "orgs", "users", "job_minutes", "org_hours", "audit_entries"})
"""Tables that are filled in another way."""
FEW = frozenset({"accounts", "agent_profiles", "labels", "notification_templates", "rules"})
"""Tables of which one org has hundreds, and not thousands."""

FILL_MORE = """
insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan, created_at)
select id, uuidv4(), 'probe.t' || n % 30, 'default', '{}', 1, 'r', '{"code": "gone", "reason": "gone"}', 'p',
  now() - n * interval '1 minute' from generate_series(1, 50000) n, one_org;
insert into jobs select r.* from (
  select id, row_number() over (order by id) * interval '1 millisecond' - interval '10 minutes' as at
  from jobs where state = 'queued'
) as n, jobs j, jsonb_populate_record(j, jsonb_build_object('id', uuidv7(n.at), 'created_at', now() + n.at,
  'org_id', (select id from one_org), 'idempotency_key', 'again ' || j.idempotency_key)) r
where j.id = n.id order by n.at;
insert into failure_groups (fingerprint, code, job_type, words, first_seen, last_seen, failures, job_ids)
select 'f' || n, 'gone', 'probe.t' || n % 30, 'w', now() - interval '1 day', now() - n * interval '1 second', 3,
  array[uuidv4()] from generate_series(1, 20000) n
"""
SETTINGS = {
    "session_preload_libraries": "auto_explain",
    "client_min_messages": "log",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_buffers": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_format": "json",
}


@dataclass
class Heard:
    """The plans that PostgreSQL tells every connection of this process."""

    plans: list[dict[str, Any]] = field(default_factory=list)

    def listen(self, connection: Connection[Any], _record: object) -> None:
        connection.add_notice_handler(self.hear)

    def hear(self, notice: Diagnostic) -> None:
        _, _, plan = (notice.message_primary or "").partition("plan:\n")
        if plan:
            self.plans.append(json.loads(plan))


@dataclass(frozen=True)
class LargeFleet:
    """A browser at a ledger of a million jobs, and the ids of what there is."""

    browser: Browser
    settings: Settings
    heard: Heard
    large: frozenset[str]
    others: Others

    def faults(self, path: str, query: Mapping[str, str]) -> list[tuple[str, object]]:
        """What is wrong with how the statements of a page ran."""
        self.heard.plans.clear()
        answer = self.browser.get(f"{path}?{urlencode(query)}")
        found: list[tuple[str, object]] = (
            [("status", 503)] if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE else []
        )
        for one in self.heard.plans:
            ran = [node for node in nodes(one["Plan"]) if node.get("Actual Loops")]
            whole = {
                node["Relation Name"]
                for node in ran
                if node.get("Relation Name") in self.large and "Seq Scan" in node["Node Type"]
            }
            if all(node.get("Relation Name", "pg_").startswith("pg_") for node in ran):
                continue  # the catalog; what a function reads has plans of its own
            looked = one["Plan"].get("Shared Hit Blocks", 0) + one["Plan"].get("Shared Read Blocks", 0)
            if whole or looked >= MOST_BUFFERS:
                found.append((" ".join(one["Query Text"].split())[:100], sorted(whole) or looked))
        return found


@pytest.fixture(scope="module")
def fleet(servers: SessionServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LargeFleet]:
    heard = Heard()
    with temporary_database(servers, template=TEMPLATE) as url:
        fill(url)
        settings = Settings(
            database_url=SecretStr(url),
            artifacts_url=SecretStr(f"file://{tmp_path_factory.mktemp('artifacts')}"),
            public_url=PUBLIC,
        )
        _publish(settings)
        with psycopg.connect(url, autocommit=True) as owner:
            others, large = _grow(owner)
        store = Database(settings)
        cookie = signed_cookie(store, OperatorRole.ADMIN).partition("=")[2]
        store.dispose()
        event.listen(Pool, "connect", heard.listen)
        app = create_app(settings)
        try:
            with TestClient(app, base_url=PUBLIC, follow_redirects=False, raise_server_exceptions=False) as client:
                client.cookies.set(COOKIE, cookie)
                yield LargeFleet(Browser(client), settings, heard, large, others)
        finally:
            event.remove(Pool, "connect", heard.listen)


def _publish(settings: Settings) -> None:
    process = Runtime(settings)
    install(process)
    publish_catalogue()
    install(None)
    process.close()


def _grow(owner: Connection[Any]) -> tuple[Others, frozenset[str]]:
    """Rows of one org in every table, many in those that grow; the names of the large tables."""
    org = UUID(str(owner.execute("select id from orgs where name = 'tenant 7'").fetchone()[0]))  # type: ignore[index] # one row
    owner.execute("set session_replication_role = replica")
    owner.execute(ORGS.encode())
    owner.execute(FILL_LISTS.encode())
    owner.execute(FILL_MORE.encode())
    for table, column in (("users", "org_id"), ("orgs", "id")):
        owner.execute(SQL("delete from {} where {} = %s").format(Identifier(table), Identifier(column)), (org,))
    owner.execute("set session_replication_role = origin")
    fill_every_table(owner, org)
    owner.execute("set session_replication_role = replica")
    for table in tenant_tables(owner):
        if table not in ALONE | FEW:
            _copy(owner, table, org)
    owner.execute("vacuum analyze")
    for name, value in SETTINGS.items():
        owner.execute(
            SQL("alter database {} set {} = {}").format(
                Identifier(owner.info.dbname),
                SQL(name),
                SQL("{}").format(value),
            )
        )
    rows = owner.execute("select relname from pg_class where relkind in ('r', 'p') and reltuples > %s", (LARGE,))
    large = frozenset(str(name) for (name,) in rows.fetchall())
    ids: dict[str, list[str]] = {}
    for table, column in columns(owner, ["uuid"]):
        query = SQL("select {}::text from {} where org_id = %s and {} is not null limit 1").format(
            Identifier(column), Identifier(table), Identifier(column)
        )
        found = [str(one) for (one,) in owner.execute(query, (org,))]
        ids.setdefault(table if column == "id" else column, found)
    return Others(org, ids, {}), large


def _copy(owner: Connection[Any], table: str, org: UUID) -> None:
    """Many copies of the org's row, each with keys and times of its own; a table that has but one of a kind stays."""
    kinds = owner.execute(
        "select a.attname, format_type(a.atttypid, null), a.attnum in ("
        "  select unnest(i.indkey) from pg_index i where i.indrelid = a.attrelid and i.indisunique) as is_key"
        " from pg_attribute a where a.attrelid = %s::regclass and a.attnum > 0 and not a.attisdropped"
        " and a.attgenerated = '' and a.attidentity = ''",
        (table,),
    ).fetchall()
    new = [made for name, kind, is_key in kinds if (made := _made(str(name), str(kind), is_key=bool(is_key)))]
    names = SQL(", ").join(Identifier(str(name)) for name, _, _ in kinds)
    fields = SQL(", ").join(SQL("r.{}").format(Identifier(str(name))) for name, _, _ in kinds)
    query = SQL(
        "insert into {table} ({names}) select {fields} from {table} t, generate_series(1, %s) n,"
        " jsonb_populate_record(t, jsonb_build_object({new})) r where t.org_id = %s on conflict do nothing"
    ).format(table=Identifier(table), names=names, fields=fields, new=SQL(", ").join(new))
    try:
        owner.execute(query, (COPIES, org))
    except psycopg.Error:
        return  # a name, a number within bounds: the org has one


def _made(name: str, kind: str, *, is_key: bool) -> Any:  # noqa: ANN401 - SQL
    """By what a column of a copy differs; None where it does not."""
    column = Identifier(name)
    if name in {"org_id", "account_id", "user_id", "project_id"}:
        return None
    if kind.startswith("timestamp"):
        return SQL("{}, t.{} - n * interval '1 minute'").format(name, column)
    if kind == "uuid" and is_key:
        return SQL("{}, uuidv7(- n * interval '1 minute')").format(name)
    if kind in {"integer", "bigint", "smallint"} and is_key:
        return SQL("{}, t.{} + n").format(name, column)
    if is_key and "uuid" not in kind and "time" not in kind and "bytea" not in kind:
        return SQL("{}, t.{} || n").format(name, column)
    return None


FILTERED: Mapping[str, Sequence[Mapping[str, str]]] = {
    "": [{"range": one} for one in RANGES],
    "/workers": [{"range": one} for one in RANGES],
    "/costs": [{"range": one} for one in RANGES],
    "/workers/close": [{"queue": "default"}],
    "/jobs": [
        {"q": one}
        for one in (
            "state:failed", "state:dead since:30d", "state:unfinished", "type:probe.run", "type:no.such",
            "queue:exports", "payload.account_id=none", "type:probe.run state:canceled payload.account_id=none",
        )
    ],
    "/deadletters": [{"state": "discarded"}, {"error_code": "none"}, {"job_type": "no.such"}],
    "/failures": [{"state": "mended"}, {"code": "none"}, {"job_type": "no.such"}],
    "/search/search": [{"q": "<none@mail.example.org>"}, {"q": "request-7"}, {"q": str(UUID(int=7))}],
    "/bulk/preview": [{"verb": "replay", "error_code": "none"}, {"verb": "retry", "job_type": "no.such"}],
}  # fmt: skip
"""What a person types into the pages by hand, found and not."""


def requests(fleet: LargeFleet) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Every page, for the fleet and for an org, and each list by each of its filters."""
    for path, operation, query in places(fleet.settings, "GET"):
        if path.endswith("/pulse"):
            continue  # a stream without end
        typed = asked(operation, query, fleet.others)
        filters: list[Mapping[str, str]] = []
        if operation is not None and operation.is_list:
            filters = [
                {one.name: typed_in(one, operation, fleet.others, foreign=True)}
                for one in fields_of(operation, {})
                if one.name not in typed
            ]
        for more in ({}, *filters, *FILTERED.get(path.removeprefix(CONSOLE), ())):
            yield path, {**typed, **more}
            yield path, {**typed, **more, "of_org": str(fleet.others.org)}


def test_no_statement_of_a_page_reads_a_large_table_from_end_to_end_or_many_pages_of_it(fleet: LargeFleet) -> None:
    assert {"jobs", "audit_entries", "idempotency_keys", "dead_letters", "messages", "actions"} <= fleet.large
    faults: dict[str, list[tuple[str, object]]] = {}
    seen = 0
    for path, query in requests(fleet):
        if found := fleet.faults(path, query):
            faults[f"{path}?{urlencode(query)}"] = found
        seen += len(fleet.heard.plans)
    assert seen > 1_000, "PostgreSQL tells no plans"
    assert faults == {}, "\n".join(f"{page}: {said}" for page, said in faults.items())
