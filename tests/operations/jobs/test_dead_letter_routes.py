"""An org's dead letters over HTTP: listed, shown, replayed once, mended and discarded; nothing of another org's."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.effects import Strategy
from domain.orgs.access.api_keys import Role
from engine.runtime import Runtime
from storage.jobs.replays import dead_letters
from tests.doubles import probe_jobs
from tests.doubles.factories import enqueue_one
from tests.doubles.inline_worker import run_job
from tests.gateway.api.conftest import Client, client_of


def died(process: Runtime, org: UUID, **payload: object) -> UUID:
    """The job of a new dead letter."""
    job_type = probe_jobs.effectful if "key" in payload else probe_jobs.ending
    job_id = enqueue_one(process.database, org, job_type.name, payload=payload or {"word": "bug"})
    end = "queued"
    while end == "queued":
        end = run_job(process, job_type, job_id)
    assert end == "dead"
    return job_id


def lines(client: Client, query: str = "") -> list[UUID]:
    return [UUID(one["job_id"]) for one in client.get(f"/v1/dead-letters{query}").json["dead_letters"]]


def test_letters_are_listed_by_state_and_shown(client: Client, stranger: Client, process: Runtime) -> None:
    jobs = [died(process, client.org_id) for _ in range(3)]
    assert client.post(f"/v1/dead-letters/{jobs[0]}/discard", {"reason": "not needed"}).json["state"] == "discarded"
    assert lines(client) == jobs[:0:-1]
    assert lines(client, "?state=discarded") == jobs[:1]
    first = client.get("/v1/dead-letters?state=all&limit=2").json
    assert lines(client, f"?state=all&cursor={first['next_cursor']}") == jobs[:1]
    shown = client.get(f"/v1/dead-letters/{jobs[1]}").json
    assert (shown["job_id"], shown["payload"]["word"], shown["state"]) == (str(jobs[1]), "bug", "open")
    assert [event["event"] for event in shown["history"]].count("job.started") == 3
    assert lines(stranger, "?state=all") == []
    none = stranger.get(f"/v1/dead-letters/{uuid4()}").json
    for answered in (
        stranger.get(f"/v1/dead-letters/{jobs[1]}"),
        stranger.post(f"/v1/dead-letters/{jobs[1]}/replay"),
        stranger.post(f"/v1/dead-letters/{jobs[1]}/discard", {"reason": "x"}),
    ):
        assert (answered.status, answered.json.keys()) == (404, none.keys())


def test_a_replay_is_made_once_per_key(client: Client, process: Runtime, database: Connection) -> None:
    job_id = died(process, client.org_id)
    path, key = f"/v1/dead-letters/{job_id}/replay", {"Idempotency-Key": "k"}
    made = client.post(path, {"reason": "mended"}, key)
    assert (made.status, made.headers["location"]) == (201, f"/v1/jobs/{made.json['job_id']}")
    again = client.post(path, {"reason": "mended"}, key)
    assert (again.status, again.json, again.headers["idempotent-replayed"]) == (200, made.json, "true")
    assert client.post(path).json["code"] == "conflict"
    row = database.execute("select replay_of, actor_type, actor_id from jobs where id = %s", (made.json["job_id"],))
    assert row.fetchone() == (job_id, "api_key", str(client.key_id))
    audited = database.execute("select actor_id, job_id from audit_entries where event = 'deadletter.replayed'")
    assert audited.fetchall() == [(str(client.key_id), job_id)]


def test_a_letter_is_mended_and_its_doubts_are_ruled(client: Client, process: Runtime, database: Connection) -> None:
    job_id = died(process, client.org_id)
    path = f"/v1/dead-letters/{job_id}/replay"
    assert client.post(path, {"payload": {"word": 5}}).json["field"] == "payload.word"
    mended = client.post(path, {"payload": {"word": "well"}}).json["job_id"]
    assert run_job(process, probe_jobs.ending, UUID(mended)) == "succeeded"
    doubtful = died(process, client.org_id, key="call", goes=["doubt"], strategy=Strategy.AT_MOST_ONCE.value)
    path = f"/v1/dead-letters/{doubtful}/replay"
    assert client.post(path).json["field"] == "effect call"
    assert client.post(path, {"happened": {"call": {}}, "did_not_happen": ["call"]}).status == 422
    assert client.post(path, {"happened": {"call": {"id": "m1"}}}).status == 201
    row = database.execute("select status, result_ref from idempotency_keys where key = 'call' and kind = 'effect'")
    assert row.fetchone() == ("succeeded", {"id": "m1"})


@pytest.mark.parametrize("role", [Role.READER, Role.WRITER])
def test_only_an_operator_s_key_closes_a_letter(client: Client, process: Runtime, door: str, role: Role) -> None:
    job_id = died(process, client.org_id)
    smaller = client_of(process.database, door, client.org_id, role)
    assert smaller.post(f"/v1/dead-letters/{job_id}/replay").status == 403
    assert smaller.post(f"/v1/dead-letters/{job_id}/discard", {"reason": "x"}).status == 403
    assert lines(smaller) == [job_id]


def test_a_list_of_closed_letters_says_how_far_it_looked(process: Runtime, org: UUID, database: Connection) -> None:
    old = died(process, org)
    with process.database.ledger() as tx:
        dead_letters.close(
            tx, {dead_letters.listed(tx, limit=1).rows[0].letter_id: None}, state="discarded", by="x", why="x"
        )
    died(process, org)
    database.execute("update dead_letters set created_at = created_at - interval '1 hour' where state = 'discarded'")
    with process.database.tenant(org) as tx:
        found = dead_letters.listed(tx, state="discarded", limit=5, most_looked_at=0)
        assert (list(found.rows), found.reached is None) == ([], False)
        found = dead_letters.listed(tx, state="discarded", limit=5, most_looked_at=1)
        assert [letter.job_id for letter in found.rows] == [old]
        assert found.reached == found.rows[0].created_at
        assert dead_letters.listed(tx, state="replayed", limit=5, most_looked_at=9).reached is None
        with_few = dead_letters.listed(tx, state=None, limit=1, most_looked_at=9)
    assert (len(with_few.rows), with_few.reached) == (2, None)
    assert with_few.rows[0].created_at - with_few.rows[1].created_at > timedelta(minutes=30)
