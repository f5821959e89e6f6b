"""What leaves by its age: the oldest first, by an index, a batch at a time."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from psycopg import Connection

from storage.mail.rules import corrections
from storage.orgs.access.api_requests import RETENTION
from storage.planning import artifacts
from storage.postgres.database import Database
from storage.postgres.retention import Retention
from storage.retentions import RETENTIONS
from tests.doubles.factories import make_org


@pytest.mark.parametrize(
    "declared",
    [one for one in (*RETENTIONS, artifacts.RETENTION) if one is not corrections.RETENTION],
    ids=lambda one: one.table,
)
def test_what_is_old_is_found_by_an_index_in_its_order(store: Database, declared: Retention) -> None:
    with store.ledger() as tx:
        tx.raw("set local enable_seqscan = off")
        tx.raw("set local enable_bitmapscan = off")
        values = {"age": declared.age, "batch": declared.batch}
        plan = tx.raw(f"explain (format json) {declared.statement()}", values)[0][0][0]["Plan"]
    old = next(one for one in nodes(plan) if one["Node Type"] == "Limit")
    assert "Sort" not in {one["Node Type"] for one in nodes(old)}
    assert any(f"({declared.since} < " in one.get("Index Cond", "") for one in nodes(old)), old


def test_of_corrections_the_oldest_are_looked_at(store: Database) -> None:
    with store.ledger() as tx:
        tx.raw("set local enable_seqscan = off")
        values = {"age": corrections.RETENTION.age, "batch": 1}
        plan = tx.raw(f"explain (format json) {corrections.RETENTION.statement()}", values)[0][0][0]["Plan"]
    assert {one["Index Name"] for one in nodes(plan) if "Index Name" in one} == {"label_corrections_pkey"}


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(found for child in plan.get("Plans", ()) for found in nodes(child))]


def test_a_batch_takes_the_oldest_of_the_orgs_that_are_asked_for(store: Database, database: Connection) -> None:
    orgs = [make_org(database, name) for name in ("one", "other")]
    database.execute(
        "insert into api_requests (org_id, key, fingerprint, expires_at)"
        " select o, n, sha256('x'), now() - make_interval(days => n)"
        " from unnest(%s::uuid[]) as o, generate_series(0, 3) as n",
        (orgs,),
    )
    young = replace(RETENTION, age=timedelta(days=1, hours=1), batch=1)
    with store.ledger() as tx:
        assert young.orgs(tx, besides=orgs[:1]) == orgs[1:]
        assert [young.forget(tx, orgs[:1]) for _ in range(3)] == [1, 1, 0]
    rows = database.execute("select org_id, key from api_requests").fetchall()
    assert {(orgs.index(org_id), key) for org_id, key in rows} == {(0, "0"), (0, "1"), *((1, str(n)) for n in range(4))}
