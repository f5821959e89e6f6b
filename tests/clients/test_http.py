"""The client at a real gateway: jobs, results, waiting, refusals; the same by both clients."""

import asyncio
import inspect
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from postroom_client import (
    AsyncClient,
    Client,
    Conflict,
    Forbidden,
    Invalid,
    Job,
    JobNotSucceeded,
    NotEnded,
    NotFound,
    OutputLeftOut,
    Refused,
    Unauthorised,
)
from psycopg import Connection

from domain.orgs.access.api_keys import Role
from engine.runtime import Runtime
from storage.postgres.database import Database
from tests.clients.conftest import QUICK
from tests.doubles import probe_jobs
from tests.doubles.factories import make_project
from tests.doubles.inline_worker import run_job
from tests.gateway.api.conftest import give_key

ENDING = "probe_jobs.ending"


def test_a_job_is_made_with_all_that_is_said_of_it(client: Client, org: UUID, database: Connection) -> None:
    due, project = datetime.now(UTC) + timedelta(hours=1), make_project(database, org)
    made = client.enqueue(
        ENDING,
        {"word": "hello"},
        key="clé-1",
        run_at=due,
        expires_at=due + timedelta(days=1),
        priority=7,
        project_id=project,
        max_attempts=9,
        retry_base_s=2,
        retry_cap_s=3,
        payload_version=1,
        request_id="r-1",
        correlation_id="c-1",
        traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    )
    assert (made.job_type, made.created, made.replayed) == (ENDING, True, False)
    row = database.execute(
        "select org_id, payload, idempotency_key, run_at, expires_at - run_at, priority, project_id, max_attempts,"
        " retry_base_s, retry_cap_s, request_id, correlation_id, traceparent like '00-0af7651916cd43dd8448%%'"
        " from jobs where id = %s",
        (made.job_id,),
    ).fetchone()
    payload = {"word": "hello", "account_id": "a"}
    said = (org, payload, "clé-1", due, timedelta(days=1), 7, project, 9, 2, 3, "r-1", "c-1", True)
    assert row == said


def test_the_same_key_is_the_same_job(client: Client) -> None:
    first = client.enqueue(ENDING, {"word": "a"}, key="k")
    again = client.enqueue(ENDING, {"word": "a"}, key="k")
    assert (again.job_id, again.created, again.replayed) == (first.job_id, False, True)
    with pytest.raises(Invalid) as refused:
        client.enqueue(ENDING, {"word": "b"}, key="k")
    assert refused.value.field == "idempotency_key"


def test_a_result_is_waited_for_and_each_change_is_said(client: Client, process: Runtime) -> None:
    made = client.enqueue(ENDING, {"word": "hello"}, key="k")
    seen: list[Job] = []

    def look(job: Job) -> None:
        seen.append(job)
        if job.state == "queued":
            assert run_job(process, probe_jobs.ending, made.job_id) == "succeeded"

    ended = client.wait(made.job_id, timeout_s=30, on_change=look)
    assert [job.state for job in seen] == ["queued", "succeeded"]
    assert (ended.ended, ended.attempt, ended.result()) == (True, 1, {"word": "hello"})
    assert ended.finished_at is not None
    assert ended.finished_at.tzinfo is not None
    assert ended.document["queue"] == "default"


@pytest.mark.parametrize(
    ("word", "state", "code", "reason"),
    [("permanent", "failed", "permanent", "no use"), ("cancel", "canceled", "canceled", "pointless")],
)
def test_a_job_that_does_not_succeed_says_why(
    client: Client, process: Runtime, word: str, state: str, code: str, reason: str
) -> None:
    made = client.enqueue(ENDING, {"word": word}, key="k")
    assert run_job(process, probe_jobs.ending, made.job_id) == state
    with pytest.raises(JobNotSucceeded) as failed:
        client.wait(made.job_id, timeout_s=30).result()
    assert (failed.value.code, failed.value.reason, failed.value.job.job_id) == (code, reason, made.job_id)


def test_an_output_that_is_left_out_is_no_empty_one(client: Client, process: Runtime, database: Connection) -> None:
    made = client.enqueue(ENDING, {}, key="k")
    run_job(process, probe_jobs.ending, made.job_id)
    database.execute("update jobs set output = jsonb_build_object('word', repeat('x', 1500000))")
    with pytest.raises(OutputLeftOut):
        client.job(made.job_id).result()


def test_time_that_is_over_leaves_the_job_alone(client: Client) -> None:
    made = client.enqueue(ENDING, {}, key="k")
    with pytest.raises(NotEnded) as late:
        client.wait(made.job_id, timeout_s=0)
    assert isinstance(late.value, TimeoutError)
    assert late.value.last.state == "queued"
    assert client.cancel(made.job_id, reason="not needed").state == "canceled"
    with pytest.raises(JobNotSucceeded, match="not needed"):
        client.wait(made.job_id).result()


@pytest.mark.parametrize(
    ("job_type", "payload", "kind", "field", "reason"),
    [
        ("no.such", {}, Invalid, "job_type", "no.such is not a known job type"),
        ("gmail.sync", {"account_id": "x"}, Invalid, "payload.account_id", "Input should be a valid UUID"),
        ("maintenance.check_invariants", {}, Forbidden, None, None),
    ],
)
def test_a_refusal_names_field_and_reason(
    client: Client, job_type: str, payload: dict[str, str], kind: type[Refused], field: str | None, reason: str | None
) -> None:
    with pytest.raises(kind) as refused:
        client.enqueue(job_type, payload, key="k")
    assert refused.value.field == field
    assert refused.value.reason == (reason or refused.value.reason)
    assert refused.value.reason
    assert refused.value.status == {Invalid: 422, Forbidden: 403}[kind]
    assert refused.value.request_id == refused.value.document["request_id"]


def test_other_refusals_have_classes_of_their_own(gateway: str, client: Client, store: Database, org: UUID) -> None:
    with pytest.raises(NotFound):
        client.job(uuid4())
    with Client(gateway, "sk-postroom-unknown", conversation=QUICK) as unknown, pytest.raises(Unauthorised):
        unknown.job(uuid4())
    with Client(gateway, give_key(store, org, Role.READER)[0].text) as reader, pytest.raises(Forbidden):
        reader.enqueue(ENDING, {}, key="k")
    made = client.enqueue(ENDING, {"word": "hello"}, key="k")
    client.cancel(made.job_id)
    assert client.cancel(made.job_id).state == "canceled"


def test_an_ended_job_is_canceled_no_more(client: Client, process: Runtime) -> None:
    made = client.enqueue(ENDING, {}, key="k")
    run_job(process, probe_jobs.ending, made.job_id)
    with pytest.raises(Conflict):
        client.cancel(made.job_id)


def test_mistakes_are_found_before_anything_is_sent(client: Client) -> None:
    with pytest.raises(TypeError, match="there is no option runat"):
        client.enqueue(ENDING, {}, key="k", runat=1)  # type: ignore[call-arg]  # the mistake
    with pytest.raises(Invalid, match=r"run_at: a time needs its offset"):
        client.enqueue(ENDING, {}, key="k", run_at=datetime(2030, 1, 1))  # noqa: DTZ001 - the mistake
    with pytest.raises(TypeError, match="a set cannot be written"):
        client.enqueue(ENDING, {"word": {1}}, key="k")
    with pytest.raises(Invalid, match="idempotency_key: "):
        client.request("POST", f"/v1/jobs/{uuid4()}/retry", {}, key="a\nb")


def test_a_page_of_somebody_else_is_no_answer(gateway: str, api_key: str) -> None:
    with (
        Client(f"{gateway}/docs?", api_key, conversation=QUICK) as lost,
        pytest.raises(Refused, match="is it the gateway's address"),
    ):
        lost.job(uuid4())


def test_any_other_route_is_one_call(client: Client) -> None:
    made = client.enqueue(ENDING, {}, key="k")
    listed = client.request("GET", "/v1/jobs", query={"state": ["queued", "running"]})
    assert [one["job_id"] for one in listed["jobs"]] == [str(made.job_id)]
    assert client.request("GET", f"/v1/jobs/{made.job_id}/why")["state"] == "queued"


def test_the_asynchronous_client_does_the_same(gateway: str, api_key: str, process: Runtime) -> None:
    async def converse() -> object:
        async with AsyncClient(gateway, api_key, conversation=QUICK) as client:
            made = await client.enqueue(ENDING, {"word": "hello"}, key="k")
            again = await client.enqueue(ENDING, {"word": "hello"}, key="k")
            assert (again.job_id, again.replayed) == (made.job_id, True)
            await asyncio.to_thread(run_job, process, probe_jobs.ending, made.job_id)
            with pytest.raises(NotFound):
                await client.run(uuid4())
            return (await client.wait(made.job_id, timeout_s=30)).result()

    assert asyncio.run(converse()) == {"word": "hello"}


def methods(kind: type) -> Iterator[tuple[str, inspect.Signature, str | None]]:
    for name, made in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_"):
            yield name, inspect.signature(made), made.__doc__


def test_both_clients_have_the_same_methods() -> None:
    assert list(methods(Client)) == list(methods(AsyncClient))
    assert len(list(methods(Client))) == 11
