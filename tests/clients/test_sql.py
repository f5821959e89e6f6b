"""A job is made by the caller's own transaction or not at all, by each driver, under a login of the service's own."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from postroom_client import Client, Invalid, sql
from postroom_client import sqlalchemy as by_sqlalchemy
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from sqlalchemy import URL, NullPool, create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from engine.runtime import Runtime
from tests.doubles import probe_jobs
from tests.doubles.factories import make_project
from tests.doubles.inline_worker import run_job

ENDING = "probe_jobs.ending"


class OnPurpose(Exception):
    """What makes a transaction roll back."""


def url_of(conninfo: str) -> URL:
    parts = conninfo_to_dict(conninfo)
    host = {"host": str(parts["host"])}
    named = {"username": parts["user"], "password": parts["password"], "database": parts["dbname"]}
    return URL.create("postgresql+psycopg", **named, port=int(str(parts["port"])), **host)  # type: ignore[arg-type]  # texts all


def by_psycopg(conninfo: str, org: UUID, number: str, *, fail: bool) -> UUID:
    with psycopg.connect(conninfo) as connection, connection.cursor() as cursor:
        cursor.execute("insert into orders values (%s)", (number,))
        job_id = sql.enqueue(cursor, ENDING, {"word": number}, org_id=org, key=number)
        if fail:
            raise OnPurpose
        return job_id


def by_rows_that_are_dictionaries(conninfo: str, org: UUID, number: str, *, fail: bool) -> UUID:
    with psycopg.connect(conninfo, row_factory=dict_row) as connection, connection.cursor() as cursor:
        cursor.execute("insert into orders values (%s)", (number,))
        job_id = sql.enqueue(cursor, ENDING, {"word": number}, org_id=str(org), key=number)
        if fail:
            raise OnPurpose
        return job_id


def by_asynchronous_psycopg(conninfo: str, org: UUID, number: str, *, fail: bool) -> UUID:
    async def enqueue() -> UUID:
        async with await psycopg.AsyncConnection.connect(conninfo) as connection:
            await connection.execute("insert into orders values (%s)", (number,))
            query, given = sql.query_of(ENDING, {"word": number}, org_id=org, key=number)
            made = await (await connection.execute(query.encode(), given)).fetchone()
            assert made is not None
            if fail:
                raise OnPurpose
            return UUID(str(made[0]))

    return asyncio.run(enqueue())


def by_session(conninfo: str, org: UUID, number: str, *, fail: bool) -> UUID:
    with Session(create_engine(url_of(conninfo), poolclass=NullPool)) as session, session.begin():
        session.execute(text("insert into orders values (:number)"), {"number": number})
        job_id = by_sqlalchemy.enqueue(session, ENDING, {"word": number}, org_id=org, key=number)
        if fail:
            raise OnPurpose
        return job_id


def by_connection(conninfo: str, org: UUID, number: str, *, fail: bool) -> UUID:
    with create_engine(url_of(conninfo), poolclass=NullPool).begin() as connection:
        connection.execute(text("insert into orders values (:number)"), {"number": number})
        job_id = by_sqlalchemy.enqueue(connection, ENDING, {"word": number}, org_id=org, key=number)
        if fail:
            raise OnPurpose
        return job_id


def by_asynchronous_session(conninfo: str, org: UUID, number: str, *, fail: bool) -> UUID:
    async def enqueue() -> UUID:
        engine = create_async_engine(url_of(conninfo), poolclass=NullPool)
        async with AsyncSession(engine) as session, session.begin():
            await session.execute(text("insert into orders values (:number)"), {"number": number})
            job_id = await session.run_sync(by_sqlalchemy.enqueue, ENDING, {"word": number}, org_id=org, key=number)
            if fail:
                raise OnPurpose
        return job_id

    return asyncio.run(enqueue())


WAYS: tuple[Callable[..., UUID], ...] = (
    by_psycopg,
    by_rows_that_are_dictionaries,
    by_asynchronous_psycopg,
    by_session,
    by_connection,
    by_asynchronous_session,
)


@pytest.mark.parametrize("enqueue", WAYS)
def test_the_job_shares_the_fate_of_the_transaction(
    service_url: str, process: Runtime, org: UUID, database: Connection, enqueue: Callable[..., UUID]
) -> None:
    with pytest.raises(OnPurpose):
        enqueue(service_url, org, "order-1", fail=True)
    counted = "select (select count(*) from jobs), (select count(*) from orders)"
    assert database.execute(counted).fetchone() == (0, 0)
    job_id = enqueue(service_url, org, "order-1", fail=False)
    assert database.execute(counted).fetchone() == (1, 1)
    assert run_job(process, probe_jobs.ending, job_id) == "succeeded"


def test_what_sql_made_http_waits_for(service_url: str, client: Client, process: Runtime, org: UUID) -> None:
    job_id = by_psycopg(service_url, org, "order-1", fail=False)
    run_job(process, probe_jobs.ending, job_id)
    assert client.wait(job_id, timeout_s=30).result() == {"word": "order-1"}
    assert client.enqueue(ENDING, {"word": "order-1"}, key="order-1").job_id == job_id


def test_all_that_is_said_of_a_job_is_kept(service_url: str, process: Runtime, org: UUID, database: Connection) -> None:
    assert process.settings
    due, project = datetime.now(UTC) + timedelta(hours=1), make_project(database, org)
    options: dict[str, Any] = {
        "run_at": due, "expires_at": due + timedelta(days=1), "priority": 7, "project_id": project, "max_attempts": 9,
        "retry_base_s": 2, "retry_cap_s": 3, "payload_version": 1, "request_id": "r-1", "correlation_id": "c-1",
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }  # fmt: skip
    with psycopg.connect(service_url) as connection, connection.cursor() as cursor:
        job_id = sql.enqueue(
            cursor, ENDING, {"word": "x"}, org_id=org, key="k", actor_type="api_key", actor_id="importer", **options
        )
    names = ", ".join([*options, "actor_type", "actor_id", "idempotency_key"])
    row = database.execute(f"select {names} from jobs where id = %s".encode(), (job_id,)).fetchone()
    assert row == (*options.values(), "api_key", "importer", "k")


@pytest.mark.parametrize(
    ("job_type", "payload", "code", "field", "reason"),
    [
        (ENDING, {"colour": "red"}, "invalid", "payload.colour", "is no field"),
        ("no.such_type_of_ours" * 9, {}, "invalid", "job_type", ""),
        (ENDING, {"word": "Bearer abcdefghijklmnopqrstuvwxyz0123456789"}, "secret", None, ""),
    ],
)
def test_a_refusal_names_field_and_reason_whoever_says_it(
    service_url: str,
    process: Runtime,
    org: UUID,
    job_type: str,
    payload: dict[str, str],
    code: str,
    field: str | None,
    reason: str,
) -> None:
    assert process.settings
    given: dict[str, Any] = {"org_id": org, "key": "k"}
    found = []
    with psycopg.connect(service_url) as connection, pytest.raises(Invalid) as refused:
        sql.enqueue(connection.cursor(), job_type, payload, **given)
    found.append(refused.value)
    with Session(create_engine(url_of(service_url), poolclass=NullPool)) as session, pytest.raises(Invalid) as refused:
        by_sqlalchemy.enqueue(session, job_type, payload, **given)
    found.append(refused.value)
    for one in found:
        assert one.code == code
        assert field is None or one.field == field
        assert reason in one.reason


def test_an_org_that_nobody_knows_is_refused(service_url: str, process: Runtime) -> None:
    assert process.settings
    with psycopg.connect(service_url) as connection, pytest.raises(Invalid) as refused:
        sql.enqueue(connection.cursor(), ENDING, {}, org_id=uuid4())
    assert refused.value.code == "unknown_org"


def test_an_error_that_is_no_refusal_goes_on(service_url: str, org: UUID) -> None:
    with psycopg.connect(service_url) as connection, connection.cursor() as cursor:
        with pytest.raises(psycopg.errors.DivisionByZero):
            cursor.execute("select 1 / 0")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            sql.enqueue(cursor, ENDING, {}, org_id=org)
        connection.rollback()


def test_the_names_of_options_are_no_sql(service_url: str, org: UUID) -> None:
    with psycopg.connect(service_url) as connection, pytest.raises(TypeError, match="there is no option"):
        sql.enqueue(connection.cursor(), ENDING, {}, org_id=org, **{"x => 1); drop table orders; --": 1})  # type: ignore[arg-type]  # the attack
