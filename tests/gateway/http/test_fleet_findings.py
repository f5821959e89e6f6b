"""What is wrong with the fleet is looked at now and then, named without a tenant, and logged as it begins and ends."""

import asyncio

import pytest
from psycopg import Connection
from structlog.testing import capture_logs

from domain.jobs.gate_causes import Cause
from engine.runtime import Runtime
from gateway.http.fleet_findings import LOOK_EVERY_S, FleetFindings
from gateway.http.readiness import Readiness
from operations.fleet_checks import read_clock
from settings import Settings
from storage.postgres.database import Database
from storage.postgres.readiness import Check, silent_checks
from tests.gateway.mailboxes import connect
from tests.gateway.serving import HttpAnswer, ask, serve
from tests.waiting import eventually, until_a_lock_is_waited_for
from tests.written_pages import DOCS, Page

WELL = (Check("writes", ok=True, finding="taken"),)
TICK = "insert into beat_ticks values ('approvals.expire', now())"


@pytest.fixture
def fleet(process: Runtime, settings: Settings) -> FleetFindings:
    return FleetFindings(process.database, settings, read_clock)


def beat(fleet: FleetFindings) -> list[bool]:
    return [check.ok for check in fleet.found if check.name == "beat"]


def test_a_look_serves_for_a_while_and_none_is_taken_of_a_database_that_is_away(
    fleet: FleetFindings, database: Connection
) -> None:
    fleet.look(WELL)
    assert beat(fleet) == [False]
    database.execute(TICK)
    fleet.look(WELL)
    assert beat(fleet) == [False], "it was looked at a moment ago"
    fleet.look(silent_checks())
    assert fleet.found == ()
    fleet.look(WELL)
    assert beat(fleet) == [True]


def test_what_is_wrong_is_logged_once_with_its_remedy_and_so_is_its_end(
    fleet: FleetFindings, database: Connection
) -> None:
    full = (Check("writes", ok=False, finding="its disk is full", remedy="make room"),)
    with capture_logs() as logged:
        for _ in range(3):
            fleet.look(full)
    said = [line for line in logged if line.get("check") in {"writes", "beat"}]
    assert [(line["event"], line["check"]) for line in said] == [("found_wrong", "writes"), ("found_wrong", "beat")]
    assert (said[0]["finding"], said[0]["remedy"]) == ("its disk is full", "make room")
    database.execute(TICK)
    with capture_logs() as logged:
        fleet.look(silent_checks())
        fleet.look(WELL)
    assert {line["check"] for line in logged if line["event"] == "recovered"} == {"writes", "beat"}


def test_a_look_that_waits_for_a_lock_keeps_nobody(fleet: FleetFindings, database: Connection) -> None:
    readiness = Readiness(lambda: WELL, (), then=fleet.look)
    with database.transaction():
        database.execute("lock table beat_ticks in access exclusive mode")
        for _ in range(2):
            assert asyncio.run(readiness.checks()) == WELL
        until_a_lock_is_waited_for(database, describe="the look")
        assert fleet.found == ()
    eventually(lambda: beat(fleet) == [False], within=20, describe="the look to end")


GATES = (
    ("provider", "gmail", Cause.PAUSE),
    ("provider", "anthropic", Cause.PAUSE),
    ("queue", "default", Cause.PAUSE),
    ("org", "{org}", Cause.PAUSE),
    ("org_provider", "{org}:gmail", Cause.SLOW_DOWN),
    ("account", "{account}", Cause.SLOW_DOWN),
)


def test_nothing_is_shown_that_names_a_tenant_or_a_mailbox(
    settings: Settings, store: Database, database: Connection
) -> None:
    """All that is looked at is wrong, for a tenant whose every name and reason has the same word in it."""
    account = connect(store, org="Hunter and sons", email="hunter@example.com")
    ids = {"org": str(account.org_id), "account": str(account.account_id)}
    close = (
        "insert into gates (scope, key, cause, reason, until, actor)"
        " values (%s, %s, %s, %s, now() + interval '1 hour', 'hunter')"
    )
    for scope, key, cause in GATES:
        database.execute(close, (scope, key.format_map(ids), cause, f"hunter@example.com of {scope} asked for it"))
    database.execute(close, ("provider", "artifacts", Cause.SLOW_DOWN, "status 401"))
    with serve(settings) as url:

        def shown() -> HttpAnswer:
            return ask(f"{url}/readyz")

        eventually(lambda: bool(shown().json["fleet"]), within=20, describe="the look at the fleet")
        answer = shown()
    wrong = {name for name, check in answer.json["fleet"].items() if not check["ok"]}
    assert wrong >= {"sealed tokens", "beat", "served queues", "providers"}
    assert "status 401" in answer.json["fleet"]["providers"]["finding"]
    assert not [word for word in ("hunter", *ids.values()) if word in answer.body.decode().lower()]


def test_the_page_says_how_often_it_is_looked() -> None:
    page = Page(DOCS / "howto" / "run-in-production.md")
    assert f"looked at every {LOOK_EVERY_S:g} seconds at most" in page.text
