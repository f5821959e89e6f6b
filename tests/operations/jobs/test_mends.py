"""One job gets another payload, by a whole one or a merge patch, and is done again with its lineage."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from commands.operations import AREAS
from domain.jobs.effects import Strategy
from engine.runtime import Runtime
from tests.commands.calling import answer, refusal
from tests.doubles import probe_jobs
from tests.doubles.end_hooks import make_hook
from tests.doubles.factories import claim_one, enqueue_one, pass_time
from tests.doubles.inline_worker import run_job
from tests.gateway.api.conftest import Client
from tests.operations.jobs.test_dead_letters import DOUBT, audit, die

JOBS = AREAS.jobs


@pytest.mark.parametrize(
    "change", [("--patch", '{"word": "well"}'), ("--payload", '{"word": "well", "account_id": "a"}')]
)
def test_a_dead_job_is_mended_and_done_again(
    process: Runtime, org: UUID, database: Connection, change: tuple[str, str]
) -> None:
    dead = die(process, org, probe_jobs.ending, word="transient")
    mended = answer(JOBS, "mend", dead, *change, "--as", "ada")
    assert mended["changes"] == [{"path": "word", "before": "transient", "after": "well"}]
    assert mended["replay_of"] == str(dead)
    assert run_job(process, probe_jobs.ending, UUID(mended["job_id"])) == "succeeded"
    who, about, facts = audit(database, "deadletter.replayed")[0]
    assert (who, about) == ("operator:ada", dead)
    assert isinstance(facts, dict)
    assert facts["changes"] == mended["changes"]


def test_the_field_that_is_wrong_is_named_and_the_letter_stays_open(process: Runtime, org: UUID) -> None:
    dead = die(process, org, probe_jobs.ending, word="transient")
    assert "payload.word" in refusal(JOBS, "mend", dead, "--patch", '{"word": 5}')
    assert "payload.other" in refusal(JOBS, "mend", dead, "--patch", '{"other": 5}')
    assert "give one of them" in refusal(JOBS, "mend", dead, "--patch", "{}", "--payload", "{}")
    assert "must be given" in refusal(JOBS, "mend", dead)
    assert answer(AREAS.deadletters, "list")[0]["state"] == "open"


def test_of_two_who_mend_one_letter_the_second_gets_a_conflict(process: Runtime, org: UUID, client: Client) -> None:
    dead = die(process, org, probe_jobs.ending, word="transient")
    first, second = (client.post(f"/v1/jobs/{dead}/mend", {"patch": {"word": word}}) for word in ("a", "b"))
    assert (first.status, second.status) == (201, 409)
    assert first.json["changes"][0]["after"] == "a"


def test_another_org_finds_nothing_to_mend(process: Runtime, org: UUID, stranger: Client) -> None:
    dead = die(process, org, probe_jobs.ending, word="transient")
    assert stranger.post(f"/v1/jobs/{dead}/mend", {"patch": {"word": "a"}}).status == 404
    assert stranger.get(f"/v1/jobs/{dead}/replay-plan").status == 404
    assert stranger.get(f"/v1/jobs/{uuid4()}/replay-plan").status == 404


def test_a_waiting_job_is_canceled_and_done_with_another_payload(
    process: Runtime, org: UUID, database: Connection
) -> None:
    waiting = enqueue_one(process.database, org, "probe_jobs.ending", payload={"word": "bug"}, idempotency_key="one")
    mended = answer(JOBS, "mend", waiting, "--patch", '{"word": "well"}')
    states: dict[UUID, str] = dict(database.execute("select id, state from jobs").fetchall())
    assert states == {waiting: "canceled", UUID(mended["job_id"]): "queued"}
    assert database.execute("select job_id from idempotency_keys where key = 'one'").fetchall() == [
        (UUID(mended["job_id"]),)
    ]
    assert "was retried already" in refusal(JOBS, "mend", waiting, "--patch", '{"word": "well"}')


def test_a_job_under_way_or_awaited_is_not_mended(process: Runtime, org: UUID, database: Connection) -> None:
    held = enqueue_one(process.database, org, "probe_jobs.ending", payload={"word": "a"})
    claim_one(process.database, held)
    assert "has not ended" in refusal(JOBS, "mend", held, "--patch", '{"word": "well"}')
    make_hook(database, "end_hook", "return;")
    database.execute("update job_types set on_end = 'end_hook' where name = 'probe_jobs.ending'")
    awaited = enqueue_one(process.database, org, "probe_jobs.ending", payload={"word": "a"})
    assert "is waited for" in refusal(JOBS, "mend", awaited, "--patch", '{"word": "well"}')
    assert database.execute("select state from jobs where id = %s", (awaited,)).fetchone() == ("queued",)


def test_a_plan_says_what_a_replay_would_do(process: Runtime, org: UUID, database: Connection, client: Client) -> None:
    dead = die(process, org, probe_jobs.effectful, **DOUBT)
    database.execute(
        "insert into job_steps (job_id, org_id, name, result, attempt, cost_microcents)"
        " values (%s, %s, 'ask', '{}', 1, 9)",
        (dead, org),
    )
    plan = client.get(f"/v1/jobs/{dead}/replay-plan").json
    assert plan["effects"] == [{"key": "call", "fate": "needs_word"}]
    assert "nobody knows" in plan["refused"]
    assert (plan["steps"], plan["saves_microcents"]) == (
        [{"name": "ask", "is_reused": True, "saves_microcents": 9}],
        9,
    )
    assert client.get(f"/v1/jobs/{dead}/replay-plan?mended=true").json["saves_microcents"] == 0


@pytest.mark.parametrize(
    ("strategy", "goes", "happened", "fate", "calls"),
    [
        (Strategy.FIND, "doubt", True, "found_out", 0),
        (Strategy.FIND, "doubt", False, "found_out", 1),
        (Strategy.FIND, "refused", False, "called", 1),
        (Strategy.IDEMPOTENT, "doubt", False, "called", 1),
        (Strategy.NATIVE_KEY, "doubt", True, "found_out", 1),
        (Strategy.AT_MOST_ONCE, "doubt", False, "needs_word", None),
        (Strategy.AT_MOST_ONCE, "recorded", True, "recorded", 0),
    ],
)
def test_a_replay_does_what_its_plan_says(
    process: Runtime,
    org: UUID,
    database: Connection,
    strategy: Strategy,
    goes: str,
    happened: bool,
    fate: str,
    calls: int | None,
) -> None:
    dead = die(
        process,
        org,
        probe_jobs.effectful,
        key="call",
        goes=["refused" if goes == "refused" else "doubt"],
        strategy=strategy.value,
    )
    if goes == "recorded":
        database.execute("update idempotency_keys set status = 'succeeded', result_ref = '{}' where kind = 'effect'")
    assert [one["fate"] for one in answer(JOBS, "replay-plan", dead)["effects"]] == [fate]
    before = len(probe_jobs.CALLS)
    change = f'{{"goes": ["ok"], "found": "{"yes" if happened else "no"}"}}'
    if calls is None:
        assert "effect call" in refusal(JOBS, "mend", dead, "--patch", change)
        return
    again = UUID(answer(JOBS, "mend", dead, "--patch", change)["job_id"])
    pass_time(database, timedelta(minutes=5))
    assert run_job(process, probe_jobs.effectful, again) == "succeeded"
    assert len(probe_jobs.CALLS) - before == calls
