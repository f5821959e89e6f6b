"""The health of the fleet as the ledger knows it: what is wrong comes first, with what to do."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from commands.operations import AREAS
from domain.jobs.job import SYSTEM_ORG
from engine.runtime import Runtime
from storage.jobs import ledger
from storage.jobs.ledger import Worker
from storage.postgres.database import Database
from tests.commands.calling import answer
from tests.doubles.factories import make_job_type

pytestmark = pytest.mark.usefixtures("process")


def findings() -> dict[object, dict[str, object]]:
    return {one["name"]: one for one in answer(AREAS.health, "list")}


def test_what_was_never_counted_is_wrong_and_comes_first() -> None:
    first, *_ = answer(AREAS.health, "list")
    assert not first["ok"]
    assert first["remedy"]
    assert "nothing was ever counted" in str(findings()["counting"]["finding"])


def test_counting_may_lag_for_two_minutes(database: Connection) -> None:
    for lag, is_well in (("30 seconds", True), ("10 minutes", False)):
        database.execute("update counting set counted_at = now() - %s::interval", (lag,))
        assert findings()["counting"]["ok"] is is_well


def test_rows_that_contradict_each_other_break_the_promises(database: Connection) -> None:
    assert findings()["promises"]["ok"]
    database.execute(
        "insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id)"
        " values ('invariant.violated', %s, 'system', 'x', 'r', 'c')",
        (SYSTEM_ORG,),
    )
    assert not findings()["promises"]["ok"]


def live(store: Database, *job_types: str) -> None:
    """A worker of `exports` that has these job types of packages."""
    worker = Worker(uuid4(), uuid4(), "a", 7, queues=("exports",), slots=4, own_job_types=job_types)
    with store.ledger() as tx:
        ledger.renew_lease(tx, worker, timedelta(minutes=1))


@pytest.fixture
def only_ours(process: Runtime, database: Connection) -> None:
    """The tests' own job types are a package's, too."""
    assert process  # which has published them
    database.execute("delete from job_types where package <> 'postroom'")


@pytest.mark.usefixtures("only_ours")
def test_a_fleet_without_packages_is_well() -> None:
    assert findings()["packages"] == {
        "name": "packages",
        "ok": True,
        "finding": "no job types but the fleet's own",
        "remedy": "",
        "runbook": "",
    }


@pytest.mark.usefixtures("only_ours")
def test_a_package_that_some_worker_of_its_queue_lacks_is_wrong(store: Database) -> None:
    make_job_type(store, name="invoices.make", package="shop", queue="exports")
    make_job_type(store, name="stock.count", package="shop", queue="exports")
    make_job_type(store, name="bread.bake", package="bakery", queue="exports")
    live(store, "invoices.make", "stock.count", "bread.bake")
    assert (
        findings()["packages"]["finding"]
        == "bakery in exports: bread.bake; shop in exports: invoices.make, stock.count"
    )
    live(store, "invoices.make")
    found = findings()["packages"]
    assert not found["ok"]
    bakery, shop = str(found["finding"]).split("; ")
    assert bakery.startswith("1 of 2 workers of exports lack bakery: ")
    assert shop.startswith("1 of 2 workers of exports lack shop: ")
    assert shop.endswith("stock.count")
    assert "invoices.make" not in shop
    assert "POSTROOM_JOBS" in str(found["remedy"])


def test_a_package_that_is_gone_is_wrong_only_while_its_jobs_wait(
    store: Database, database: Connection, org: UUID
) -> None:
    make_job_type(store, name="invoices.make", package="shop", queue="exports")
    live(store)
    assert findings()["packages"]["ok"]
    database.execute("select postroom.enqueue('invoices.make', %s)", (org,))
    assert not findings()["packages"]["ok"]
    database.execute(
        "update jobs set run_at = now() + interval '1 hour', next_check_at = now() + interval '1 hour',"
        " backlog_since = null where job_type = 'invoices.make'"
    )
    assert not findings()["packages"]["ok"]


MOVES = """insert into org_moves (org_id, state, cell, actor_id, since)
values (%s, %s, 'eu2', 'ada', now() - %s::interval)"""


@pytest.mark.parametrize(
    ("state", "remedy"),
    [
        ("leaving", "in the cell : celery -A tasks orgs move {org} --to eu2 goes on"),
        ("arriving", "in the cell eu2: celery -A tasks orgs move {org} --to  goes on"),
    ],
)
def test_a_move_that_was_cut_off_is_named_after_an_hour(
    database: Connection, org: UUID, state: str, remedy: str
) -> None:
    database.execute(MOVES, (org, state, "50 minutes"))
    assert findings()["moves of orgs"]["ok"]
    database.execute("update org_moves set since = now() - interval '70 minutes'")
    found = findings()["moves of orgs"]
    assert not found["ok"]
    assert str(org) in str(found["finding"])
    assert str(found["remedy"]).startswith(remedy.format(org=org))


def test_a_packages_table_that_erasures_would_leave_out_is_named_with_what_mends_it(database: Connection) -> None:
    assert findings()["own tables"]["ok"]
    database.execute("create schema shop; create table shop.notes (org_id uuid not null)")
    database.execute("call postroom.fence_table('shop.notes')")
    found = findings()["own tables"]
    assert not found["ok"]
    assert "shop.notes" in str(found["finding"])
    database.execute(str(found["remedy"]).partition(": ")[2].encode())
    database.execute("revoke usage on schema shop from postroom_ledger")  # as where the schema is made anew
    assert findings()["own tables"]["ok"]
