"""`POST /v1/jobs` stores a job once per key, as the key's org, and refuses with the field and the reason."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from engine.runtime import Runtime
from storage.jobs import relay
from storage.postgres.database import Database
from tests.doubles import probe_jobs
from tests.doubles.factories import make_project
from tests.doubles.inline_worker import run_job
from tests.gateway.api.conftest import Client
from tests.gateway.serving import ask

ACCOUNT = "00000000-0000-4000-8000-000000000001"
INGEST = {"job_type": "gmail.ingest", "payload": {"account_id": ACCOUNT, "message_id": "m", "thread_id": "t"}}
NOOP = {"job_type": "probe_jobs.noop", "payload": {}}


def jobs_of(database: Connection) -> list[tuple[UUID, ...]]:
    return database.execute("select id from jobs order by created_at, id").fetchall()


def test_a_job_is_made_as_it_was_asked_for(client: Client, database: Connection) -> None:
    due = datetime.now(UTC) + timedelta(hours=1)
    project = make_project(database, client.org_id)
    asked = INGEST | {"run_at": due.isoformat(), "priority": 7, "project_id": str(project)}
    headers = {"Idempotency-Key": "k", "X-Request-Id": "r-1", "X-Correlation-Id": "c-1"}
    answer = client.post("/v1/jobs", asked, headers)
    assert answer.status == 201, answer.body
    job_id = UUID(answer.json["job_id"])
    assert answer.json == {"job_id": str(job_id), "job_type": "gmail.ingest", "created": True, "replayed": False}
    assert answer.headers["location"] == f"/v1/jobs/{job_id}"
    row = database.execute(
        "select org_id, payload ->> 'message_id', run_at, priority, project_id, idempotency_key, actor_type, actor_id,"
        " request_id, correlation_id from jobs where id = %s",
        (job_id,),
    ).fetchone()
    who = ("api_key", str(client.key_id), "r-1", "c-1")
    assert row == (client.org_id, "m", due, 7, project, "k", *who)


def test_a_job_from_http_runs(client: Client, process: Runtime) -> None:
    job_id = UUID(client.post("/v1/jobs", {"job_type": "probe_jobs.ending", "payload": {}}).json["job_id"])
    assert run_job(process, probe_jobs.ending, job_id) == "succeeded"
    assert client.get(f"/v1/jobs/{job_id}").json["state"] == "succeeded"


def test_an_alias_makes_the_same_job(client: Client) -> None:
    made = client.post("/v1/jobs", INGEST | {"job_type": "ingest.gmail"})
    assert (made.status, made.json["job_type"]) == (201, "gmail.ingest")


def test_another_name_of_a_field_makes_the_same_job(client: Client, database: Connection) -> None:
    """A key's first job may have come by another door; it is compared under the fields' own names."""
    user = database.execute(
        "insert into users (org_id, email) values (%s, 'ada@example.com') returning id", (client.org_id,)
    ).fetchone()
    assert user is not None
    account = database.execute(
        "insert into accounts (org_id, user_id, email, status, status_reason) values"
        " (%s, %s, 'ada@example.com', 'needs_reconsent', 'a test') returning id",
        (client.org_id, user[0]),
    ).fetchone()
    assert account is not None
    plain = {"account_id": str(account[0]), "message_id": "m", "thread_id": "t"}
    database.execute(
        "select postroom.enqueue('gmail.ingest', %s, %s, idempotency_key => 'k')", (client.org_id, json.dumps(plain))
    )
    named = {"user_id": str(user[0]), "message_id": "m", "thread_id": "t"}
    answer = client.post("/v1/jobs", INGEST | {"payload": named}, {"Idempotency-Key": "k"})
    assert (answer.status, answer.json["replayed"]) == (200, True), answer.body
    other = client.post("/v1/jobs", INGEST | {"payload": named | {"user_id": str(uuid4())}})
    assert (other.status, other.json["field"]) == (422, "payload.user_id")


def test_the_relay_is_woken_and_nothing_is_published_before_the_commit(client: Client, store: Database) -> None:
    with store.session() as session:
        relay.listen(session)
        assert client.post("/v1/jobs", NOOP).status == 201
        assert relay.wait(session, 5)
    with store.ledger() as tx:
        assert tx.raw("select published_at from jobs")[0].published_at is None


def test_the_same_request_with_the_same_key_is_answered_with_the_first_job(
    client: Client, database: Connection
) -> None:
    first = client.post("/v1/jobs", NOOP, {"Idempotency-Key": "k"})
    again = client.post("/v1/jobs", {"payload": {}, "job_type": "probe_jobs.noop"}, {"Idempotency-Key": "k"})
    in_body = client.post("/v1/jobs", NOOP | {"idempotency_key": "k"})
    assert (first.status, again.status, in_body.status) == (201, 200, 200)
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json == in_body.json == first.json | {"created": False, "replayed": True}
    assert len(jobs_of(database)) == 1


def test_the_key_holds_after_the_job_has_left_the_queue(client: Client, database: Connection) -> None:
    """A type that is unique while queued frees the ledger's own key with the claim; the request's key stays."""
    sync = {"job_type": "gmail.sync", "payload": {"account_id": ACCOUNT}}
    first = client.post("/v1/jobs", sync, {"Idempotency-Key": "k"})
    database.execute("update idempotency_keys set status = 'succeeded'")
    again = client.post("/v1/jobs", sync, {"Idempotency-Key": "k"})
    assert again.json["job_id"] == first.json["job_id"]
    assert len(jobs_of(database)) == 1


def test_the_same_key_with_another_body_is_refused(client: Client, database: Connection) -> None:
    client.post("/v1/jobs", NOOP, {"Idempotency-Key": "k"})
    other = client.post("/v1/jobs", NOOP | {"priority": 1}, {"Idempotency-Key": "k"})
    assert (other.status, other.json["field"]) == (422, "idempotency_key")
    assert other.json["reason"] == "belongs to another request, which asked for something else"
    assert len(jobs_of(database)) == 1


def test_requests_at_once_with_one_key_make_one_job(client: Client, database: Connection) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.post("/v1/jobs", NOOP, {"Idempotency-Key": "k"}), range(16)))
    assert sorted(answer.status for answer in answers) == [200] * 15 + [201]
    assert len({answer.json["job_id"] for answer in answers}) == 1
    assert len(jobs_of(database)) == 1


def test_a_key_is_free_again_when_its_time_is_over(client: Client, database: Connection) -> None:
    first = client.post("/v1/jobs", NOOP, {"Idempotency-Key": "k"})
    for table in ("api_requests", "idempotency_keys"):
        database.execute(f"update {table} set expires_at = now()")
    again = client.post("/v1/jobs", NOOP | {"priority": 1}, {"Idempotency-Key": "k"})
    assert again.status == 201
    assert again.json["job_id"] != first.json["job_id"]


def test_a_key_that_came_by_another_door_names_its_job(client: Client, database: Connection) -> None:
    row = database.execute(
        "select postroom.enqueue('probe_jobs.noop', %s, idempotency_key => 'k')", (client.org_id,)
    ).fetchone()
    assert row is not None
    same = client.post("/v1/jobs", NOOP, {"Idempotency-Key": "k"})
    assert (same.status, same.json["job_id"]) == (200, str(row[0]))
    database.execute("select postroom.enqueue('probe_jobs.noop', %s, idempotency_key => 'j')", (client.org_id,))
    other = client.post("/v1/jobs", INGEST, {"Idempotency-Key": "j"})
    assert (other.status, other.json["field"]) == (422, "idempotency_key")
    assert database.execute("select count(*) from api_requests where key = 'j'").fetchone() == (0,)


def test_two_orgs_may_use_the_same_key(client: Client, stranger: Client) -> None:
    answers = [one.post("/v1/jobs", NOOP, {"Idempotency-Key": "k"}) for one in (client, stranger)]
    assert [answer.status for answer in answers] == [201, 201]


def test_a_unique_type_names_the_job_that_is_there(client: Client) -> None:
    first, second = client.post("/v1/jobs", INGEST), client.post("/v1/jobs", INGEST)
    assert (first.status, second.status) == (201, 200)
    assert second.json == first.json | {"created": False}


@pytest.mark.parametrize(
    ("asked", "field", "reason"),
    [
        ({}, "job_type", "Field required"),
        ([], "document", "is no JSON object"),
        ("text", "document", "is no JSON object"),
        (NOOP | {"job_type": "probe_jobs.nope"}, "job_type", "probe_jobs.nope is not a known job type"),
        (NOOP | {"job_typ": 1}, "job_typ", "Extra inputs are not permitted"),
        (INGEST | {"payload": {}}, "payload.account_id", "Field required"),
        (INGEST | {"payload": []}, "payload", "Input should be a valid dictionary"),
        (NOOP | {"payload": {"password": "x"}}, "payload.password", "Extra inputs are not permitted"),
        (NOOP | {"payload_version": 2}, "payload_version", "2 is newer than the fleet knows (1)"),
        (NOOP | {"priority": 1000}, "priority", "Input should be less than or equal to 100"),
        (
            NOOP | {"run_at": "2026-01-01T00:00:00"},
            "run_at",
            "has no time zone: end it with Z, or an offset such as +01:00",
        ),
        (NOOP | {"idempotency_key": ""}, "idempotency_key", "String should have at least 1 character"),
        (NOOP | {"org_id": ACCOUNT}, "org_id", "is not the org of the key"),
    ],
)
def test_a_bad_request_is_refused_by_field_and_reason(
    client: Client,
    database: Connection,
    asked: object,
    field: str,
    reason: str,
) -> None:
    answer = client.post("/v1/jobs", asked)
    assert answer.status == 422, answer.body
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json
    assert (document["field"], document["reason"]) == (field, reason)
    assert document["type"] == "urn:postroom:problem:invalid"
    assert (document["title"], document["status"], document["code"]) == ("Unprocessable Entity", 422, "invalid")
    assert document["request_id"] == answer.headers["x-request-id"]
    assert jobs_of(database) == []


def test_what_nests_too_deep_is_refused(client: Client) -> None:
    deep: object = "x"
    for _ in range(70):
        deep = {"a": deep}
    answer = client.post("/v1/jobs", NOOP | {"payload": deep})
    assert (answer.status, answer.json["field"]) == (422, "payload")
    body = b'{"payload": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}"
    raw = ask(
        f"{client.url}/v1/jobs", body, {"Authorization": f"Bearer {client.key}", "Content-Type": "application/json"}
    )
    assert (raw.status, raw.json["field"]) == (422, "document")


@pytest.mark.parametrize("job_type", ["maintenance.full_sync", "budgets.alert", "deadletter.quarantine"])
def test_housekeeping_is_the_fleets_own(client: Client, database: Connection, job_type: str) -> None:
    answer = client.post("/v1/jobs", {"job_type": job_type, "payload": {}})
    assert (answer.status, answer.json["code"]) == (403, "forbidden")
    assert jobs_of(database) == []


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b"{", "application/json", 422, "invalid"),
        (b'{"a": NaN}', "application/json", 422, "invalid"),
        (b"\xff\xfe", "application/json", 422, "invalid"),
        (b"a=b", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        (b" " * (1024 * 1024 + 1), "application/json", 413, "too_large"),
    ],
)
def test_a_body_that_is_no_json_of_a_decent_size_is_refused(
    client: Client, body: bytes, kind: str, status: int, code: str
) -> None:
    answer = ask(f"{client.url}/v1/jobs", body, {"Authorization": f"Bearer {client.key}", "Content-Type": kind})
    assert (answer.status, answer.json["code"]) == (status, code)
