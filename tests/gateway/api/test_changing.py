"""Canceling and retrying over HTTP."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.job import Origin, State
from domain.jobs.lifecycle import Settlement
from domain.orgs.access.api_keys import Role
from engine.runtime import Runtime
from operations.jobs.jobs import NO_REASON
from storage.jobs import ledger
from storage.postgres.database import Database
from tests.doubles import probe_jobs
from tests.doubles.factories import claim_one, enqueue_one, make_org
from tests.gateway.api.conftest import Client, client_of

NOOP = probe_jobs.noop.name


def end(store: Database, job_id: UUID, state: State) -> None:
    """As a worker would, or as whoever cancels it."""
    if state is State.CANCELED:
        with store.ledger() as tx:
            ledger.cancel(tx, [job_id], "not needed", by=Origin())
        return
    job = claim_one(store, job_id)
    error = None if state is State.SUCCEEDED else {"code": "permanent", "reason": "it broke"}
    with store.ledger() as tx:
        ledger.settle(tx, [Settlement(job_id, job.token, state, started_at=datetime.now(UTC), error=error)])


def test_a_waiting_job_is_canceled_at_once(client: Client, store: Database, database: Connection) -> None:
    job_id = enqueue_one(store, client.org_id, NOOP)
    answer = client.post(f"/v1/jobs/{job_id}/cancel", {"reason": "not needed"}, {"X-Request-Id": "r-1"})
    assert (answer.status, answer.json) == (200, {"job_id": str(job_id), "state": "canceled", "descendants": 0})
    assert client.get(f"/v1/jobs/{job_id}").json["cancel_reason"] == "not needed"
    assert client.post(f"/v1/jobs/{job_id}/cancel").json["state"] == "canceled"
    row = database.execute("select actor_type, actor_id from audit_log where event = 'job.canceled'").fetchall()
    assert row == [("api_key", str(client.key_id))]


def test_descendants_in_the_org_are_canceled_with_a_job(client: Client, store: Database, database: Connection) -> None:
    other_org = make_org(database, "another org")
    job_id = enqueue_one(store, client.org_id, NOOP)
    child = enqueue_one(store, client.org_id, NOOP, parent_id=job_id)
    foreign = enqueue_one(store, other_org, NOOP, parent_id=job_id)
    assert client.post(f"/v1/jobs/{job_id}/cancel").json["state"] == "canceled"
    assert client.get(f"/v1/jobs/{child}").json["state"] == "canceled"
    with store.ledger() as tx:
        assert tx.raw("select state from jobs where id = %(job)s", {"job": foreign})[0].state == "queued"


def test_descendants_go_on_when_the_caller_says_so(client: Client, store: Database) -> None:
    job_id = enqueue_one(store, client.org_id, NOOP)
    child = enqueue_one(store, client.org_id, NOOP, parent_id=job_id)
    answer = client.post(f"/v1/jobs/{job_id}/cancel", {"reason": "not needed", "children": False})
    assert (answer.status, answer.json["state"]) == (200, "canceled")
    assert client.get(f"/v1/jobs/{child}").json["state"] == "queued"


def test_how_far_a_cancellation_goes_is_said_by_a_boolean(client: Client, store: Database) -> None:
    job_id = enqueue_one(store, client.org_id, NOOP)
    answer = client.post(f"/v1/jobs/{job_id}/cancel", {"children": "no"})
    assert (answer.status, answer.json["field"]) == (422, "children")
    assert client.get(f"/v1/jobs/{job_id}").json["state"] == "queued"


def test_a_running_job_is_asked_to_stop(client: Client, store: Database) -> None:
    job_id = enqueue_one(store, client.org_id, NOOP)
    claim_one(store, job_id)
    assert client.post(f"/v1/jobs/{job_id}/cancel").json["state"] == "running"
    shown = client.get(f"/v1/jobs/{job_id}").json
    assert (shown["state"], shown["cancel_reason"]) == ("running", NO_REASON)
    assert shown["cancel_requested_at"]


def test_a_job_that_has_ended_is_not_canceled(client: Client, store: Database) -> None:
    job_id = enqueue_one(store, client.org_id, NOOP)
    end(store, job_id, State.SUCCEEDED)
    answer = client.post(f"/v1/jobs/{job_id}/cancel")
    assert (answer.status, answer.json["code"]) == (409, "conflict")


@pytest.mark.parametrize("state", [State.FAILED, State.CANCELED])
def test_an_ended_job_is_done_again_once(client: Client, store: Database, database: Connection, state: State) -> None:
    job_id = enqueue_one(store, client.org_id, NOOP, idempotency_key="k", priority=3)
    database.execute(
        "insert into job_steps (job_id, org_id, name, result, attempt) values (%s, %s, 'paid', '{}', 1)",
        (job_id, client.org_id),
    )
    end(store, job_id, state)
    answer = client.post(f"/v1/jobs/{job_id}/retry", {"reason": "mended"})
    assert answer.status == 201, answer.body
    again = answer.json["job_id"]
    assert answer.headers["location"] == f"/v1/jobs/{again}"
    shown = client.get(f"/v1/jobs/{again}").json
    assert (shown["state"], shown["replay_of"], shown["priority"]) == ("queued", str(job_id), 3)
    assert shown["correlation_id"] == client.get(f"/v1/jobs/{job_id}").json["correlation_id"]
    assert database.execute("select name from job_steps where job_id = %s", (again,)).fetchall() == [("paid",)]
    second = client.post(f"/v1/jobs/{job_id}/retry")
    assert (second.status, again in second.json["detail"]) == (409, True)
    event = database.execute("select data, actor_id from audit_log where event = 'job.replayed'").fetchall()
    assert event == [({"replay_job_id": again, "reason": "mended"}, str(client.key_id))]


def test_a_dead_job_is_retried_by_its_letter(client: Client, store: Database, database: Connection) -> None:
    job_id = enqueue_one(store, client.org_id, NOOP)
    end(store, job_id, State.DEAD)
    assert client.post(f"/v1/jobs/{job_id}/retry").status == 201
    assert database.execute("select state from dead_letters where job_id = %s", (job_id,)).fetchall() == [("replayed",)]
    assert client.post(f"/v1/jobs/{job_id}/retry").status == 409


@pytest.mark.parametrize(("state", "words"), [(State.QUEUED, "has not ended"), (State.SUCCEEDED, "has succeeded")])
def test_what_has_not_failed_is_not_retried(client: Client, store: Database, state: State, words: str) -> None:
    job_id = enqueue_one(store, client.org_id, NOOP)
    if state.final:
        end(store, job_id, state)
    answer = client.post(f"/v1/jobs/{job_id}/retry")
    assert (answer.status, words in answer.json["detail"]) == (409, True)


def test_a_key_that_another_job_has_keeps_the_retry_back(client: Client, store: Database, database: Connection) -> None:
    job_id = enqueue_one(store, client.org_id, NOOP, idempotency_key="k")
    end(store, job_id, State.FAILED)
    database.execute("update idempotency_keys set expires_at = now()")
    other = enqueue_one(store, client.org_id, NOOP, idempotency_key="k")
    answer = client.post(f"/v1/jobs/{job_id}/retry")
    assert (answer.status, str(other) in answer.json["detail"]) == (409, True)
    assert database.execute("select count(*) from jobs").fetchone() == (2,)


def test_a_doubtful_effect_wants_a_person(client: Client, store: Database, database: Connection) -> None:
    job_id = enqueue_one(store, client.org_id, NOOP)
    database.execute(
        "insert into idempotency_keys (org_id, key, kind, mode, status, job_id, owner_token, expires_at)"
        " values (%s, 'sms', 'effect', 'at_most_once', 'unknown', %s, %s, now() + interval '1 day')",
        (client.org_id, job_id, job_id),
    )
    end(store, job_id, State.FAILED)
    answer = client.post(f"/v1/jobs/{job_id}/retry")
    assert (answer.status, answer.json["field"]) == (422, "effect sms")


@pytest.mark.parametrize(
    ("body", "field"), [([], "document"), ({"reason": ""}, "reason"), ({"why": "x"}, "why"), ({"reason": 1}, "reason")]
)
def test_a_bad_reason_is_refused(client: Client, store: Database, body: object, field: str) -> None:
    job_id = enqueue_one(store, client.org_id, NOOP)
    for verb in ("cancel", "retry"):
        answer = client.post(f"/v1/jobs/{job_id}/{verb}", body)
        assert (answer.status, answer.json["field"]) == (422, field)


@pytest.mark.parametrize(
    ("role", "allowed"),
    [(Role.READER, set[str]()), (Role.WRITER, {"enqueue", "cancel"}), (Role.OPERATOR, {"enqueue", "cancel", "retry"})],
)
def test_a_role_allows_what_it_says(
    store: Database, door: str, process: Runtime, org: UUID, role: Role, allowed: set[str]
) -> None:
    caller = client_of(store, door, org, role)
    job_id = enqueue_one(process.database, org, NOOP)
    statuses = {
        "enqueue": caller.post("/v1/jobs", {"job_type": NOOP, "payload": {}}).status,
        "cancel": caller.post(f"/v1/jobs/{job_id}/cancel").status,
        "retry": caller.post(f"/v1/jobs/{job_id}/retry").status,
    }
    assert {deed for deed, status in statuses.items() if status != 403} == allowed
    assert caller.get(f"/v1/jobs/{job_id}").status == 200
