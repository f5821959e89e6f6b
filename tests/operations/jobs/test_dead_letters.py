"""What died is replayed with its lineage, mended under its schema, or discarded; every operator action is audited."""

from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from commands.deadletters import deadletters
from commands.jobs import jobs
from domain.jobs.effects import Strategy
from domain.jobs.job import State
from domain.jobs.lifecycle import Settlement
from engine.catalogue import Job
from engine.runtime import Runtime
from storage.jobs import ledger
from tests.commands.calling import answer, call, refusal
from tests.doubles import probe_jobs
from tests.doubles.factories import claim_one, enqueue_one
from tests.doubles.inline_worker import run_job

AnyJob = Job[probe_jobs.Ending] | Job[probe_jobs.EffectOrder]
DOUBT = {"key": "call", "goes": ["doubt"], "strategy": Strategy.AT_MOST_ONCE.value}


def die(process: Runtime, org: UUID, job_type: AnyJob, **payload: object) -> UUID:
    """A job that used up its attempts."""
    key = payload.pop("idempotency_key", None)
    job_id = enqueue_one(process.database, org, job_type.name, payload=payload, idempotency_key=key)
    end = "queued"
    while end == "queued":
        end = run_job(process, job_type, job_id)
    assert end == "dead"
    return job_id


def audit(database: Connection, event: str) -> list[tuple[object, ...]]:
    return database.execute("select actor_id, job_id, data from audit_log where event = %s", (event,)).fetchall()


def replayed(letter: UUID, *options: object) -> UUID:
    row = answer(deadletters, "replay", letter, *options)[0]
    assert row["state"] == "replayed"
    return UUID(row["job_id"])


def dead_serial(process: Runtime, org: UUID) -> UUID:
    """A dead job of a type of which one may be queued per account."""
    job_id = enqueue_one(process.database, org, "probe_jobs.serial", payload={"word": ""})
    job = claim_one(process.database, job_id)
    with process.database.ledger() as tx:
        settlement = Settlement(job_id, job.token, State.DEAD, error={"code": "bug", "reason": "made"})
        assert not ledger.settle(tx, [settlement]).refused
    return job_id


def test_a_list_and_a_letter_say_what_can_be_done(process: Runtime, org: UUID) -> None:
    job_id = die(process, org, probe_jobs.ending, word="transient")
    line = answer(deadletters, "list")[0]
    assert (UUID(line["job_id"]), line["state"], line["job_type"]) == (job_id, "open", "probe_jobs.ending")
    facts = answer(deadletters, "show", job_id)
    assert facts["letter_id"] == line["letter_id"]
    assert [event["event"] for event in facts["history"]].count("job.started") == 3
    assert facts["plan"] in call(deadletters, "show", line["letter_id"]).output
    assert answer(deadletters, "list", "--state", "discarded") == []
    assert "no dead letter" in refusal(deadletters, "show", uuid4())


def test_a_replay_runs_under_a_new_id_that_names_the_old_one(process: Runtime, org: UUID, database: Connection) -> None:
    job_id = die(process, org, probe_jobs.ending, word="transient")
    again = replayed(job_id, "--as", "ada")
    row = database.execute(
        "select a.replay_of, a.state, a.attempt, a.correlation_id = b.correlation_id, a.actor_id"
        " from jobs a join jobs b on b.id = a.replay_of where a.id = %s",
        (again,),
    ).fetchone()
    assert row == (job_id, "queued", 0, True, "operator:ada")
    letter = answer(deadletters, "list", "--state", "all")[0]
    assert (letter["state"], letter["replay_job_id"], letter["resolved_by"]) == ("replayed", str(again), "operator:ada")
    who, about, facts = audit(database, "deadletter.replayed")[0]
    assert (who, about) == ("operator:ada", job_id)
    assert isinstance(facts, dict)
    assert (facts["replay_job_id"], facts["changes"]) == (str(again), [])
    rows = answer(deadletters, "replay", job_id, status=1)
    assert (rows[0]["state"], "is replayed already" in rows[0]["trouble"]) == ("unchanged", True)


def test_a_mended_payload_is_checked_and_its_change_told(process: Runtime, org: UUID, database: Connection) -> None:
    job_id = die(process, org, probe_jobs.ending, word="transient", account_id="a")
    trouble = answer(deadletters, "replay", job_id, "--payload", '{"word": 5}', status=1)[0]["trouble"]
    assert "payload.word" in trouble
    again = replayed(job_id, "--payload", '{"word": "well"}')
    assert run_job(process, probe_jobs.ending, again) == "succeeded"
    facts = audit(database, "deadletter.replayed")[0][2]
    assert isinstance(facts, dict)
    assert facts["changes"] == [{"path": "word", "before": "transient", "after": "well"}]


def test_a_payload_that_nobody_can_read_must_be_mended(process: Runtime, org: UUID) -> None:
    job_id = enqueue_one(process.database, org, "probe_jobs.effectful", payload={"goes": 1}, is_checked=True)
    assert run_job(process, probe_jobs.effectful, job_id) == "dead"
    assert "payload.key" in answer(deadletters, "replay", job_id, status=1)[0]["trouble"]
    again = replayed(job_id, "--payload", '{"key": "k", "goes": ["ok"]}')
    assert run_job(process, probe_jobs.effectful, again) == "succeeded"


def test_a_key_that_its_dead_job_held_lets_the_replay_in(process: Runtime, org: UUID, database: Connection) -> None:
    job_id = die(process, org, probe_jobs.ending, word="transient", idempotency_key="once")
    again = replayed(job_id)
    assert again != job_id
    keys = database.execute("select job_id, status from idempotency_keys where key = 'once'").fetchall()
    assert keys == [(again, "pending")]


def test_a_key_that_another_job_holds_keeps_the_letter_open(process: Runtime, org: UUID) -> None:
    job_id = dead_serial(process, org)
    other = enqueue_one(process.database, org, "probe_jobs.serial", payload={"word": ""})
    row = answer(deadletters, "replay", job_id, status=1)[0]
    assert str(other) in row["trouble"]
    assert answer(deadletters, "list")[0]["state"] == "open"


def test_a_replay_gets_the_kept_steps_for_nothing(process: Runtime, org: UUID, database: Connection) -> None:
    job_id = die(process, org, probe_jobs.effectful, **DOUBT)
    database.execute(
        "insert into job_steps (job_id, org_id, name, result, attempt, cost_microcents)"
        " values (%s, %s, 'ask', '{}', 1, 9)",
        (job_id, org),
    )
    again = replayed(job_id, "--did-not-happen", "call")
    steps = database.execute("select name, cost_microcents from job_steps where job_id = %s", (again,)).fetchall()
    assert steps == [("ask", 0)]


def test_doubt_needs_a_decision_before_a_replay(process: Runtime, org: UUID) -> None:
    job_id = die(process, org, probe_jobs.effectful, **DOUBT)
    row = answer(deadletters, "replay", job_id, status=1)[0]
    assert "effect call: " in row["trouble"]
    row = answer(deadletters, "replay", job_id, "--happened", "other", "--happened", "call", status=1)[0]
    assert "effect other: " in row["trouble"]
    assert "cannot have happened" in refusal(
        deadletters, "replay", job_id, "--happened", "call", "--did-not-happen", "call"
    )
    assert "effect" in refusal(deadletters, "replay", job_id, "--result", "call", "{}")
    assert answer(jobs, "show", job_id)["effects"][0]["status"] == "unknown"


@pytest.mark.parametrize(
    ("options", "calls", "happened"),
    [(("--happened", "call", "--result", "call", '{"id": "m1"}'), 0, True), (("--did-not-happen", "call"), 1, False)],
)
def test_what_happened_is_not_done_again_and_what_did_not_is(
    process: Runtime, org: UUID, database: Connection, options: tuple[str, ...], calls: int, happened: bool
) -> None:
    job_id = die(process, org, probe_jobs.effectful, **DOUBT)
    mended = ("--payload", '{"key": "call", "goes": ["ok"], "strategy": "at_most_once"}')
    again = replayed(job_id, *options, *mended, "--as", "ada")
    before = len(probe_jobs.CALLS)
    assert run_job(process, probe_jobs.effectful, again) == "succeeded"
    assert len(probe_jobs.CALLS) - before == calls
    output = database.execute("select output from jobs where id = %s", (again,)).fetchone()
    assert output == ({"id": "m1"},) if happened else ({"key": "call"},)
    result = {"id": "m1"} if happened else {}
    ruling = {"key": "call", "happened": happened, "result": result}
    assert audit(database, "effect.ruled") == [("operator:ada", job_id, ruling)]


def test_many_are_discarded_each_with_the_reason(process: Runtime, org: UUID, database: Connection) -> None:
    dead = [die(process, org, probe_jobs.ending, word="transient") for _ in range(2)]
    unknown = uuid4()
    rows = answer(deadletters, "discard", *dead, unknown, "--reason", "old news", "--as", "ada", status=1)
    assert [row["state"] for row in rows] == ["discarded", "discarded", "unchanged"]
    closed = answer(deadletters, "list", "--state", "discarded")
    assert {(letter["resolution"], letter["resolved_by"]) for letter in closed} == {("old news", "operator:ada")}
    assert {about for _, about, _ in audit(database, "deadletter.discarded")} == set(dead)
    assert answer(deadletters, "list") == []


def test_a_mended_payload_is_for_one_letter(process: Runtime, org: UUID) -> None:
    assert process
    assert "one letter at a time" in refusal(deadletters, "replay", org, uuid4(), "--payload", "{}")
