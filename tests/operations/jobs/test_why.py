"""Why a job waits, as an operator and as its org hear it: the same sentence by the command and by HTTP."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from commands.operations import AREAS
from domain.jobs.gate_causes import Cause
from domain.jobs.job import Cancel, NewJob, Snooze
from domain.jobs.lifecycle import settlement_of
from domain.jobs.monitoring.why import WaitCause
from domain.jobs.retry import STANDARD
from storage.jobs import gates, ledger
from storage.jobs.gates import Gate
from storage.postgres.database import Database
from tests.commands.calling import answer, refusal
from tests.doubles.factories import HINT_TIMEOUT, claim_one, enqueue_one, make_job_type, make_org, make_worker
from tests.gateway.api.conftest import Client

HOUR = timedelta(hours=1)
SECRET_WORDS = "moving for the acme deal"  # what an operator wrote


def in_backlog(store: Database, org: UUID, **given: object) -> UUID:
    """A job that no producer publishes."""
    with store.ledger() as tx:
        job = NewJob(job_type="probe.run", org_id=org, payload={}, **given)  # type: ignore[arg-type] # any field
        return ledger.enqueue(tx, [job], publisher=False, hint_timeout=HINT_TIMEOUT)[0].job_id


def said(client: Client, job_id: UUID) -> tuple[str, str]:
    """What the org hears; the command says the same where the two know the same."""
    found = client.get(f"/v1/jobs/{job_id}/why").json
    assert found["job_id"] == str(job_id)
    return found["cause"], found["sentence"]


def to_operator(job_id: UUID) -> str:
    return str(answer(AREAS.jobs, "why", job_id)["sentence"])


def test_the_command_and_the_route_say_the_same(client: Client, store: Database) -> None:
    make_job_type(store)
    job_id = enqueue_one(store, client.org_id, run_at=datetime.now(UTC) + HOUR * 3)
    cause, sentence = said(client, job_id)
    assert (cause, sentence.partition(" before ")[0]) == (WaitCause.SCHEDULED, "It is not due")
    assert to_operator(job_id).partition(" (")[0] == sentence.partition(" (")[0]


def test_nothing_of_another_org_is_explained(client: Client, stranger: Client, store: Database) -> None:
    make_job_type(store)
    job_id = enqueue_one(store, client.org_id)
    refused, none = stranger.get(f"/v1/jobs/{job_id}/why"), stranger.get(f"/v1/jobs/{uuid4()}/why")
    assert (refused.status, none.status) == (404, 404)
    assert "there is no job" in refusal(AREAS.jobs, "why", uuid4())


def test_a_pauses_words_and_other_orgs_jobs_are_an_operators(
    client: Client, store: Database, database: Connection
) -> None:
    make_job_type(store)
    other = make_org(database, "other")
    with store.ledger() as tx:
        gates.close(tx, Gate("queue", "default", SECRET_WORDS, None, "operator:ada"))
    job_id, *_ = [enqueue_one(store, org) for org in (client.org_id, client.org_id, other, other)]
    cause, sentence = said(client, job_id)
    assert cause == WaitCause.GATE
    assert "The queue default is paused by an operator" in sentence
    assert "at least 1 other job" in sentence
    assert SECRET_WORDS not in sentence
    told = to_operator(job_id)
    assert "at least 3 other jobs" in told
    assert "paused by operator:ada" in told
    assert SECRET_WORDS in told


def test_a_mailboxes_gate_is_explained_to_its_org(client: Client, store: Database) -> None:
    make_job_type(store)
    until = datetime.now(UTC) + HOUR
    with store.ledger() as tx:
        gates.close(tx, Gate("org", str(client.org_id), "the day's cents", until, "postroom", Cause.BUDGET))
    cause, sentence = said(client, enqueue_one(store, client.org_id))
    assert cause == WaitCause.GATE
    assert "The money of its org is spent" in sentence
    assert "the day's cents" in sentence
    assert f"{until:%Y-%m-%dT%H:%M}" in sentence


def test_the_holder_of_a_key_is_named_and_is_of_the_same_org(
    client: Client, store: Database, database: Connection
) -> None:
    make_job_type(store, "probe.serial", serial_field="account_id")
    make_job_type(store)
    other = make_org(database, "other")
    foreign = enqueue_one(store, other, "probe.serial", payload={"account_id": "a"})
    claim_one(store, foreign)
    holder, *waiting = (
        enqueue_one(store, client.org_id, "probe.serial", payload={"account_id": "a"}) for _ in range(3)
    )
    claim_one(store, holder)
    worker = make_worker(store)
    with store.ledger() as tx:
        for job_id in waiting:
            assert not ledger.claim(tx, [job_id], worker.worker_id, lease=HOUR).jobs
    cause, sentence = said(client, waiting[1])
    assert cause == WaitCause.CONCURRENCY_KEY
    assert f"the job {holder} (since" in sentence
    assert "1 job is before it" in sentence
    assert str(foreign) not in sentence + to_operator(waiting[1])


def test_the_backlog_is_counted_for_the_org_alone(client: Client, store: Database, database: Connection) -> None:
    make_job_type(store)
    make_worker(store)
    other = make_org(database, "other")
    for _ in range(3):
        in_backlog(store, other)
    in_backlog(store, client.org_id)
    job_id = in_backlog(store, client.org_id)
    in_backlog(store, client.org_id, priority=5)
    in_backlog(store, other, priority=9)
    in_backlog(store, client.org_id, priority=-5)
    cause, sentence = said(client, job_id)
    assert cause == WaitCause.BACKLOG
    assert "2 jobs of its org are before it" in sentence
    assert "its org has 1." in sentence
    assert "its org has 1 of 2." in to_operator(job_id)


def test_a_retry_a_snooze_and_a_cancellation_say_why(client: Client, store: Database) -> None:
    make_job_type(store)
    with store.ledger() as tx:
        now = ledger.read_time(tx)
    for outcome, cause, words in (
        (Snooze(now + HOUR, "the mail is not visible yet"), WaitCause.SNOOZED, "the mail is not visible yet"),
        (Cancel("the thread is gone"), WaitCause.CANCELED, "It was canceled: the thread is gone"),
    ):
        job = claim_one(store, enqueue_one(store, client.org_id))
        with store.ledger() as tx:
            ledger.settle(tx, [settlement_of(job, outcome, STANDARD, now, 0.5)])
        found, sentence = said(client, job.job_id)
        assert (found, words in sentence) == (cause, True), sentence


def test_who_canceled_and_what_became_of_a_dead_letter(client: Client, store: Database, database: Connection) -> None:
    make_job_type(store)
    make_job_type(store, "deadletter.quarantine", queue="deadletter")
    job_id = enqueue_one(store, client.org_id)
    answer(AREAS.jobs, "cancel", job_id, "--reason", "a mistake", "--as", "ada")
    assert "canceled by operator:ada: a mistake" in said(client, job_id)[1]
    dead = claim_one(store, enqueue_one(store, client.org_id))
    database.execute(
        "update jobs set state = 'dead', finished_at = now(), next_check_at = null, claim_token = null,"
        ' worker_id = null, claimed_at = null, error = \'{"code": "x.y", "reason": "no"}\' where id = %s',
        (dead.job_id,),
    )
    cause, sentence = said(client, dead.job_id)
    assert cause == WaitCause.DEAD
    assert "x.y: no" in sentence
    assert "is open. The job failed at every attempt" in sentence


@pytest.mark.parametrize("lives", [True, False])
def test_a_running_job_names_its_worker_to_operators(
    client: Client, store: Database, database: Connection, lives: bool
) -> None:
    make_job_type(store)
    job = claim_one(store, enqueue_one(store, client.org_id))
    if not lives:
        database.execute("update workers set lease_until = now() - interval '1 minute'")
    cause, sentence = said(client, job.job_id)
    assert cause == (WaitCause.RUNNING if lives else WaitCause.WORKER_SILENT)
    assert "on host" not in sentence
    assert "The worker process 1 on host" in to_operator(job.job_id)


def test_the_claims_token_is_in_no_fact(client: Client, store: Database) -> None:
    make_job_type(store)
    job = claim_one(store, enqueue_one(store, client.org_id))
    with store.tenant(client.org_id) as tx:
        facts = tx.raw("select postroom.why_of_job(%(job)s)::text as facts", {"job": job.job_id})[0].facts
    assert str(job.job_id) in facts
    assert str(job.token) not in facts
