"""Changes are enriched as the auditor (`audit.enrich`), in bounded parts, and again when the rules have a new version
(`audit.catch_up`).
"""

from dataclasses import replace
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.job import SYSTEM_ORG, Done
from domain.payloads.audit import CatchUpPayload, EnrichPayload
from domain.payloads.payload import Payload
from engine.catalogue import catalogue
from engine.context import JobContext
from engine.enqueue import enqueue
from engine.runtime import Runtime
from engine.worker.runner import run_attempt
from storage.postgres.logins import AUDITOR_ROLE
from tasks.jobs import audit
from tests.doubles.changed_sheets import add_change, enriched
from tests.doubles.factories import claim_one, make_org
from tests.doubles.inline_worker import run_job


def run(process: Runtime, payload: Payload, org_id: UUID) -> str:
    with process.database.ledger() as tx:
        (made,) = enqueue(tx, payload, org_id=org_id)
    found = catalogue.find(payload.declaration.job_type)
    assert found is not None
    return run_job(process, found, made.job_id)


def outputs(database: Connection) -> list[dict[str, int]]:
    query = "select output from jobs where state = 'succeeded' order by finished_at"
    return [row[0] for row in database.execute(query)]


def queued(database: Connection) -> list[tuple[str, UUID]]:
    return database.execute("select job_type, org_id from jobs where state = 'queued' order by org_id").fetchall()


def test_each_change_is_said_once_whatever_is_repeated(process: Runtime, database: Connection, org: UUID) -> None:
    events = [add_change(database, org, name, number) for number, name in enumerate(("Build", "Strike"), 2)]
    said = [
        (event_id, 1, f"“Load-in” is now called “{name}”.")
        for event_id, name in zip(events, ("Build", "Strike"), strict=True)
    ]
    assert run(process, EnrichPayload(), org) == "succeeded"
    assert enriched(database, org) == said
    assert run(process, EnrichPayload(), org) == "succeeded"
    assert outputs(database) == [{"events": 2}, {"events": 0}]
    assert enriched(database, org) == said


def test_an_attempt_takes_a_part_and_the_next_job_goes_on(process: Runtime, database: Connection, org: UUID) -> None:
    most = audit.BATCH * audit.MOST_BATCHES
    add_change(database, org, "x")
    database.execute(
        "insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id, data)"
        " select event, org_id, actor_type, actor_id, request_id, correlation_id, data from audit_entries,"
        " generate_series(1, %s) where event = 'run_sheet.changed'",
        (most,),
    )
    assert run(process, EnrichPayload(), org) == "succeeded"
    assert queued(database) == [("audit.enrich", org)]
    assert len(enriched(database, org)) == most
    assert run(process, EnrichPayload(), org) == "succeeded"
    assert outputs(database) == [{"events": most}, {"events": 1}]
    assert queued(database) == []


def test_an_event_that_has_left_the_log_is_passed_over(process: Runtime, database: Connection, org: UUID) -> None:
    assert run(process, EnrichPayload(), org) == "succeeded"
    assert outputs(database) == [{"events": 0}]


def test_orgs_whose_changes_lack_details_are_asked_for_and_no_others(
    process: Runtime, database: Connection, org: UUID
) -> None:
    other, silent = make_org(database, "other"), make_org(database, "silent")
    for one in (org, other):
        add_change(database, one, "x")
    run(process, EnrichPayload(), org)
    assert run(process, CatchUpPayload(), SYSTEM_ORG) == "succeeded"
    assert queued(database) == [("audit.enrich", other)]
    run(process, EnrichPayload(), other)
    assert run(process, CatchUpPayload(), SYSTEM_ORG) == "succeeded"
    assert queued(database) == []
    assert enriched(database, silent) == []


def test_newer_rules_have_each_org_enriched_anew(process: Runtime, database: Connection, org: UUID) -> None:
    add_change(database, org, "x")
    run(process, EnrichPayload(), org)
    # As a release before this one would have left them.
    database.execute("alter table audit_details disable trigger user")
    database.execute("alter table audit_details drop constraint audit_details_rule_version_check")
    database.execute("update audit_details set rule_version = 0")
    run(process, CatchUpPayload(), SYSTEM_ORG)
    run(process, EnrichPayload(), org)
    assert [(version, words) for _, version, words in enriched(database, org)] == [
        (0, "“Load-in” is now called “x”."),
        (1, "“Load-in” is now called “x”."),
    ]


@pytest.mark.parametrize("way", ["writes", "writes elsewhere", "enqueues"])
def test_a_handler_of_that_role_can_write_nothing_else(
    process: Runtime, database: Connection, org: UUID, way: str
) -> None:
    def handler(ctx: JobContext, _payload: EnrichPayload) -> Done:
        match way:
            case "writes":
                return Done(writes=lambda _tx: None)
            case "writes elsewhere":
                with ctx.tx() as tx:
                    tx.raw("update accounts set full_synced_at = now()")
            case "enqueues":
                with ctx.tx() as tx:
                    ctx.enqueue(tx, EnrichPayload())
        return Done()

    known = catalogue.find("audit.enrich")
    assert known is not None
    assert known.role == AUDITOR_ROLE
    wrong = replace(known, handler=handler)
    with process.database.ledger() as tx:
        (made,) = enqueue(tx, EnrichPayload(), org_id=org)
    result = run_attempt(process, wrong, claim_one(process.database, made.job_id), process.clock())
    assert result.settlement is not None
    assert result.settlement.error is not None
    assert (result.status, result.settlement.error["code"]) == ("failed", "forbidden")
    assert "permission denied" in result.settlement.error["reason"]
    assert database.execute("select count(*) from jobs").fetchone() == (1,)
