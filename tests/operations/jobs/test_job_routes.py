"""Reading and listing jobs: an org's own, in bounded answers without secrets."""

import json
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from commands.operations import AREAS
from engine.runtime import Runtime
from operations.pages import write_cursor
from storage.jobs.job_views import LONGEST_FIELD
from storage.postgres.database import Database
from tests.commands.calling import refusal
from tests.doubles import probe_jobs
from tests.doubles.factories import enqueue_one, make_org
from tests.doubles.inline_worker import run_job
from tests.gateway.api.conftest import Client

KINDS = ["probe_jobs.noop", "probe_jobs.ending"]


def ids(client: Client, query: str = "") -> list[UUID]:
    return [UUID(job["job_id"]) for job in client.get(f"/v1/jobs{query}").json["jobs"]]


def test_a_job_is_shown_with_its_result(client: Client, process: Runtime) -> None:
    job_id = enqueue_one(process.database, client.org_id, "probe_jobs.ending", payload={"word": "hello"})
    assert run_job(process, probe_jobs.ending, job_id) == "succeeded"
    shown = client.get(f"/v1/jobs/{job_id}").json
    assert (shown["state"], shown["attempt"], shown["payload"]["word"]) == ("succeeded", 1, "hello")
    assert (shown["left_out"], shown["error"]) == ([], None)
    assert shown["finished_at"] >= shown["started_at"]
    assert not {"claim_token", "worker_id", "org_id"} & set(shown)


def test_what_looks_like_a_secret_is_taken_out(client: Client, store: Database, database: Connection) -> None:
    job_id = enqueue_one(store, client.org_id, "probe_jobs.noop")
    database.execute(
        "update jobs set error = %s, cancel_reason = %s where id = %s",
        (
            json.dumps({"access_token": "x", "reason": "see postgres://me:hunter2@host/db"}),
            "it said Bearer abcdefghijklmnop",
            job_id,
        ),
    )
    text = client.get(f"/v1/jobs/{job_id}").body.decode()
    listed = client.get("/v1/jobs").body.decode()
    assert "abcdefghijklmnop" not in text
    assert json.loads(text)["error"]["access_token"] == "[redacted]"
    assert "hunter2" not in text + listed


def test_what_is_too_large_is_left_out_and_named(client: Client, store: Database, database: Connection) -> None:
    job_id = enqueue_one(store, client.org_id, "probe_jobs.noop")
    database.execute("update jobs set output = %s where id = %s", (json.dumps({"a": "x" * LONGEST_FIELD}), job_id))
    answer = client.get(f"/v1/jobs/{job_id}")
    assert (answer.json["output"], answer.json["left_out"]) == (None, ["output"])
    assert len(answer.body) < 10_000


def test_nothing_of_another_org_is_found(client: Client, stranger: Client, store: Database) -> None:
    job_id = enqueue_one(store, client.org_id, "probe_jobs.noop")
    none = stranger.get(f"/v1/jobs/{uuid4()}")
    for answer in (
        stranger.get(f"/v1/jobs/{job_id}"),
        stranger.post(f"/v1/jobs/{job_id}/cancel"),
        stranger.post(f"/v1/jobs/{job_id}/retry"),
    ):
        assert (answer.status, answer.json["code"]) == (404, "gone")
        assert answer.json.keys() == none.json.keys(), "one of another org must look like none"
    assert ids(stranger) == []
    assert ids(client) == [job_id]
    assert client.get(f"/v1/jobs/{job_id}").json["state"] == "queued"


def test_a_list_is_narrowed_by_every_filter(client: Client, process: Runtime) -> None:
    done, waiting = (enqueue_one(process.database, client.org_id, kind) for kind in reversed(KINDS))
    run_job(process, probe_jobs.ending, done)
    assert ids(client) == [waiting, done]
    assert ids(client, "?state=succeeded") == [done]
    assert ids(client, "?state=succeeded&state=queued") == [waiting, done]
    assert ids(client, "?job_type=probe_jobs.noop") == [waiting]
    assert ids(client, "?job_type=unknown.type") == []
    created = [job["created_at"] for job in client.get("/v1/jobs").json["jobs"]]
    assert ids(client, f"?since={created[0]}") == [waiting]
    assert ids(client, f"?before={created[0]}") == [done]


def test_pages_show_every_job_once_though_new_ones_come(client: Client, store: Database) -> None:
    made = [enqueue_one(store, client.org_id, "probe_jobs.noop") for _ in range(7)]
    with store.ledger() as tx:  # one moment for all, so that the ids decide
        tx.raw("update jobs set created_at = now()")
    enqueue_one(store, make_of_another(store), "probe_jobs.noop")
    seen: list[UUID] = []
    query = "?limit=3"
    while True:
        page = client.get(f"/v1/jobs{query}").json
        seen += [UUID(job["job_id"]) for job in page["jobs"]]
        if page["next_cursor"] is None:
            break
        enqueue_one(store, client.org_id, "probe_jobs.noop")
        query = f"?limit=3&cursor={page['next_cursor']}"
    assert seen == sorted(made, reverse=True)


def make_of_another(store: Database) -> UUID:
    with store.ledger() as tx:
        return UUID(str(tx.raw("insert into orgs (name) values ('third') returning id")[0].id))


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?cursor=nonsense", "cursor"),
        ("?cursor=%ff", "cursor"),
        ("?cursor=MjAyNi0wMS0wMVQwMDowMDowMCBub25l", "cursor"),
        (f"?cursor={write_cursor((datetime(2026, 11, 26), UUID(int=0)))}", "cursor"),  # noqa: DTZ001 - without a zone
        ("?limit=0", "limit"),
        ("?limit=201", "limit"),
        ("?state=asleep", "state"),
        ("?since=yesterday", "since"),
        ("?since=2026-01-01T00:00:00", "since"),
    ],
)
def test_a_question_that_is_none_is_refused(client: Client, query: str, field: str) -> None:
    answer = client.get(f"/v1/jobs{query}")
    assert (answer.status, answer.json["code"]) == (422, "invalid")
    assert answer.json["field"] == field


def test_a_job_id_that_is_none_is_refused(client: Client) -> None:
    assert client.get("/v1/jobs/7").json["field"] == "job_id"


def test_times_at_the_ends_of_the_calendar_break_nothing(client: Client) -> None:
    for time in ("0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59-14:00"):
        assert client.get(f"/v1/jobs?since={time}&before={time}").status == 200
    beyond = datetime(9999, 12, 31, 23, 59, tzinfo=UTC) - timedelta(hours=1)
    refused = client.post("/v1/jobs", {"job_type": "probe_jobs.noop", "payload": {}, "run_at": beyond.isoformat()})
    assert (refused.status, refused.json["field"]) == (422, "run_at")


def test_the_org_of_a_list_is_made_of_its_own_jobs_only(client: Client, database: Connection, store: Database) -> None:
    enqueue_one(store, make_org(database, "third"), "probe_jobs.noop")
    assert client.get("/v1/jobs").json == {"jobs": [], "next_cursor": None, "looked_back_to": None}


SECRETS = ("sk-ant-api03-" + "a1" * 15, "AKIA" + "A" * 16 + " AKIA" + "B" * 16, "password=" + "hunter2hunter2")


@pytest.mark.parametrize("secret", SECRETS)
def test_a_reason_with_a_secret_is_refused_by_the_callers_field(
    client: Client, store: Database, database: Connection, secret: str
) -> None:
    job_id = enqueue_one(store, client.org_id, "probe_jobs.noop")
    refused = client.post(f"/v1/jobs/{job_id}/cancel", {"reason": f"it had {secret}"}).json
    assert (refused["field"], refused["reason"]) == ("reason", "must not carry a secret")
    assert database.execute("select state from jobs where id = %s", (job_id,)).fetchone() == ("queued",)
    assert "reason: must not carry a secret" in refusal(AREAS.gates, "close", "fleet", "--reason", secret)
