"""Statements on lent connections: rows by name, and connections that PostgreSQL has ended."""

from uuid import uuid4

import psycopg
import pytest
from psycopg import Connection

from domain.jobs.failures import Invalid
from storage.postgres.database import Database
from storage.postgres.execution import DatabaseUnavailable, StatementAborted, is_away
from tests.doubles.factories import enqueue_one, make_job_type, make_org


def test_a_row_is_read_by_the_names_of_its_columns(store: Database) -> None:
    with store.statements() as tx:
        (row,) = tx.raw("select 7 as count, 'x' as name")
    assert (row.count, row.name) == (7, "x") == row
    assert row._asdict() == {"count": 7, "name": "x"}


def test_columns_of_one_name_and_of_none_are_read_by_their_place(store: Database) -> None:
    with store.ledger() as tx:
        (row,) = tx.raw("select 1 as id, 2 as id, 3, 4 as class, 5 as last")
    assert tuple(row) == (1, 2, 3, 4, 5)
    assert row.id == 1
    assert row.last == 5


def test_a_statement_without_an_answer_has_no_rows(store: Database) -> None:
    with store.statements() as tx:
        assert tx.raw("set local work_mem = '8MB'") == []


@pytest.mark.parametrize("levels", [1, 64, 199, 200, 201, 600])
def test_json_is_read_however_deep_it_nests(store: Database, levels: int) -> None:
    with store.statements() as tx:
        (row,) = tx.raw("select %(text)s::jsonb as document", {"text": "[" * levels + "]" * levels})
    document, depth = row.document, 1
    while document:
        (document,), depth = document, depth + 1
    assert depth == levels


def test_json_keeps_what_python_and_postgresql_both_know(store: Database) -> None:
    text = '{"n": 123456789012345678901234567890, "f": 0.1, "e": 1e3, "t": "\\u00e4\\ud83d\\ude00", "b": [true, null]}'
    with store.statements() as tx:
        (row,) = tx.raw("select %(text)s::jsonb as document", {"text": text})
    assert row.document == {"n": 123456789012345678901234567890, "f": 0.1, "e": 1000, "t": "ä😀", "b": [True, None]}


def test_a_percent_sign_stands_for_itself_where_there_are_no_parameters(store: Database) -> None:
    with store.ledger() as tx:
        assert tx.raw("select '100%' as share")[0].share == "100%"


def test_connections_that_ended_while_they_rested_in_the_pool_cost_no_statement(
    store: Database, database: Connection
) -> None:
    with store.ledger() as first, store.ledger() as second, store.statements() as third:
        ended = [tx.raw("select pg_backend_pid() as pid")[0].pid for tx in (first, second, third)]
    database.execute("select pg_terminate_backend(pid, 10000) from unnest(%s::int[]) as pid", [ended])
    with store.ledger() as first, store.ledger() as second, store.statements() as third:
        alive = {tx.raw("select pg_backend_pid() as pid")[0].pid for tx in (first, second, third)}
    assert alive.isdisjoint(ended)


def test_a_tenants_transaction_outlives_the_connections_that_rested_in_the_pool(
    store: Database, database: Connection
) -> None:
    org = make_org(database)
    with store.tenant(org) as first, store.tenant(org) as second:
        ended = [tx.raw("select pg_backend_pid() as pid")[0].pid for tx in (first, second)]
    database.execute("select pg_terminate_backend(pid, 10000) from unnest(%s::int[]) as pid", [ended])
    with store.tenant(org) as tx:
        (row,) = tx.raw("select pg_backend_pid() as pid, current_setting('postroom.org') as org")
    assert row.pid not in ended
    assert row.org == str(org)


def test_a_tenants_transaction_that_has_begun_is_not_begun_again(store: Database, database: Connection) -> None:
    begun = 0
    with pytest.raises(DatabaseUnavailable), store.tenant(make_org(database)) as tx:
        begun += 1
        database.execute("select pg_terminate_backend(%s, 10000)", [tx.raw("select pg_backend_pid() as pid")[0].pid])
        tx.raw("select 1")
    assert begun == 1


def test_a_transaction_whose_connection_ends_midway_is_undone(store: Database, database: Connection) -> None:
    name = str(uuid4())
    with pytest.raises(DatabaseUnavailable), store.ledger() as tx:
        pid = tx.raw("insert into orgs (name) values (%(name)s) returning pg_backend_pid() as pid", {"name": name})[
            0
        ].pid
        database.execute("select pg_terminate_backend(%s, 10000)", [pid])
        tx.raw("select 1")
    assert database.execute("select count(*) from orgs where name = %s", [name]).fetchone() == (0,)


TOO_MUCH = {
    "request_id": ("update jobs set request_id = repeat('x', 201)", "String should have at most 200 characters"),
    "priority": ("update jobs set priority = 101", "Input should be less than or equal to 100"),
    "cancel_reason": (
        "update jobs set cancel_reason = repeat('x', 1001)",
        "breaks the ledger's rule jobs_cancel_reason_check",
    ),
    "value": (
        "update jobs set run_at = '6666-66-66'",
        "is refused by PostgreSQL: DatetimeFieldOverflow",
    ),
    "number": ("update jobs set attempt = 40000", "is out of the range of its column"),
}


@pytest.mark.parametrize("field", TOO_MUCH)
def test_a_value_that_a_column_does_not_take_is_told_by_its_field_alone(
    store: Database, database: Connection, field: str
) -> None:
    make_job_type(store)
    enqueue_one(store, make_org(database))
    statement, reason = TOO_MUCH[field]
    with pytest.raises(Invalid) as refused, store.ledger() as tx:
        tx.raw(statement)
    assert (refused.value.field, refused.value.reason) == (field, f"{field}: {reason}")


@pytest.mark.parametrize("name", ["a\udce4b", "a\0b"], ids=["half of a letter", "NUL"])
def test_a_text_that_cannot_be_stored_is_refused(store: Database, name: str) -> None:
    with store.ledger() as tx, pytest.raises(Invalid, match="text: carries a character that PostgreSQL cannot store"):
        tx.raw("insert into orgs (name) values (%(name)s)", {"name": name})


def test_a_row_that_contradicts_itself_is_a_mistake_of_ours(store: Database, database: Connection) -> None:
    make_job_type(store)
    enqueue_one(store, make_org(database))
    with pytest.raises(psycopg.errors.CheckViolation, match="final_when_finished"), store.ledger() as tx:
        tx.raw("update jobs set finished_at = now()")


def test_a_statement_that_fails_leaves_its_connection_in_the_pool(store: Database) -> None:
    pids = set()
    for _ in range(3):
        with pytest.raises(psycopg.errors.UndefinedTable), store.ledger() as tx:
            pids.add(tx.raw("select pg_backend_pid() as pid")[0].pid)
            tx.raw("select from nowhere")
    assert len(pids) == 1


def test_a_percent_sign_is_doubled_where_there_are_parameters_and_a_name_may_stand_twice(store: Database) -> None:
    with store.ledger() as tx:
        (row,) = tx.raw(
            "select %(a)s::int %% 5 as rest, %(b)s::text as b, %(a)s::int as a, 'like %%' as sign", {"a": 7, "b": "x"}
        )
    assert tuple(row) == (2, "x", 7, "like %")


def test_a_parameter_that_is_not_given_is_named(store: Database) -> None:
    with store.ledger() as tx, pytest.raises(KeyError, match="missing"):
        tx.raw("select %(missing)s::int", {"given": 1})


def test_the_pinned_connection_keeps_its_connection_until_it_is_lost_and_takes_none_of_the_pool(
    store: Database, database: Connection
) -> None:
    pids = []
    for _ in range(2):
        with store.pinned() as tx, store.statements() as other:
            pids.append(tx.raw("select pg_backend_pid() as pid")[0].pid)
            assert other.raw("select pg_backend_pid() as pid")[0].pid != pids[0]
    assert pids[0] == pids[1]
    database.execute("select pg_terminate_backend(%s, 10000)", pids[:1])
    with pytest.raises(DatabaseUnavailable), store.pinned() as tx:
        tx.raw("select 1")
    with store.pinned() as tx:
        assert tx.raw("select pg_backend_pid() as pid")[0].pid != pids[0]


def test_a_pinned_connection_calls_what_waits_for_its_statements_and_keeps_nothing_open_afterwards(
    store: Database, database: Connection
) -> None:
    called: list[str] = []
    name = str(uuid4())
    with store.pinned() as tx:
        tx.after_commit(lambda: called.append("after"))
        tx.raw("insert into orgs (name) values (%(name)s)", {"name": name})
        assert database.execute("select count(*) from orgs where name = %s", [name]).fetchone() == (1,)
        assert called == []
    assert called == ["after"]


def test_a_pinned_connection_whose_user_was_interrupted_takes_another_connection(store: Database) -> None:
    pids = set()
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), store.pinned() as tx:
            pids.add(tx.raw("select pg_backend_pid() as pid")[0].pid)
            raise KeyboardInterrupt
    assert len(pids) == 2


def make_raiser(database: Connection) -> None:
    """A function that raises the error of a code: the ledger's role may run no code of its own."""
    database.execute(
        "create function raise_code(code text) returns void language plpgsql as"
        " $$ begin raise exception 'no' using errcode = code; end $$"
    )
    database.execute("grant execute on function raise_code to postroom_ledger")


@pytest.mark.parametrize(
    ("code", "away", "aborted"),
    [
        ("08006", True, False),
        ("57P01", True, False),
        ("53200", True, False),
        ("53300", True, False),
        ("40P01", False, True),
        ("40001", False, True),
        ("55P03", False, True),
        ("57014", False, True),
        ("53100", False, True),
    ],
)
def test_an_operational_error_is_told_by_its_code(
    store: Database, database: Connection, code: str, away: bool, aborted: bool
) -> None:
    make_raiser(database)
    with pytest.raises(DatabaseUnavailable) as caught, store.statements() as tx:
        tx.raw("select raise_code(%(code)s)", {"code": code})
    assert (is_away(caught.value), isinstance(caught.value, StatementAborted)) == (away, aborted)


@pytest.mark.parametrize("code", ["53400", "54000", "27000"])
def test_a_limit_of_postgresqls_is_the_statements_fault(store: Database, database: Connection, code: str) -> None:
    make_raiser(database)
    with pytest.raises(psycopg.Error), store.statements() as tx:
        tx.raw("select raise_code(%(code)s)", {"code": code})
