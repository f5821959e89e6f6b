"""What a filter matches is previewed, done batch by batch at a pace, aborted and resumed; nothing is done twice."""

from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import Connection

from commands.operations import AREAS
from domain.jobs.job import SYSTEM_ORG
from domain.orgs.access.api_keys import Role
from engine.runtime import Runtime
from operations.jobs.bulk_steps import MORE_BELOW
from storage.postgres.database import Database
from tasks.jobs import bulk_actions
from tests.commands.calling import answer, refusal
from tests.doubles import probe_jobs
from tests.doubles.factories import enqueue_one, make_org, pass_time
from tests.doubles.inline_worker import run_job
from tests.gateway.api.conftest import Client, client_of
from tests.operations.jobs.test_dead_letters import DOUBT, audit, dead_serial, die, replayed

BULK = AREAS.bulk

LETTERS = """
insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan)
select %s, uuidv7(), 'probe_jobs.ending', 'default', '{"word": "x", "account_id": "a"}', 1, 'broken',
  '{"code": "bug"}', 'p'
from generate_series(1, %s)
"""
"""Letters whose jobs are past their retention."""


def start(verb: str, *options: object, status: int = 0) -> dict[str, Any]:
    return dict(answer(BULK, "start", "--verb", verb, "--reason", "the cause is mended", *options, status=status))


def run_on(process: Runtime, database: Connection, *, most: int = 20) -> str:
    """Run the newest job of the bulk action until it is neither snoozed nor retried; returns its state."""
    query = "select id from jobs where job_type = 'bulk_actions.run' and finished_at is null order by id desc limit 1"
    row = database.execute(query).fetchone()
    assert row is not None
    for _ in range(most - 1):
        state = run_job(process, bulk_actions.run, row[0])
        if state != "queued":
            return state
        pass_time(database, timedelta(minutes=1))
    return run_job(process, bulk_actions.run, row[0])


def shown(bulk: dict[str, Any]) -> dict[str, Any]:
    return dict(answer(BULK, "show", bulk["bulk_id"]))


def states(database: Connection) -> Counter[str]:
    rows = database.execute(
        "select state from jobs where job_type <> 'bulk_actions.run' and job_type not like 'deadletter.%'"
    )
    return Counter(state for (state,) in rows.fetchall())


def test_letters_that_a_filter_matches_are_replayed_once_each(
    process: Runtime, org: UUID, database: Connection
) -> None:
    dead = [die(process, org, probe_jobs.ending, word="transient", account_id="a") for _ in range(3)]
    other = die(process, org, probe_jobs.ending, word="transient", account_id="b")
    wanted = ("--job-type", "probe_jobs.ending", "--payload", "account_id=a")
    preview = answer(BULK, "preview", "--verb", "replay", *wanted)
    assert (preview["matched"], preview["is_all"], preview["confirm"], preview["refused"]) == (3, True, None, [])
    assert [one["job_id"] for one in preview["sample"]] == list(map(str, dead))
    bulk = start("replay", *wanted, "--as", "ada")
    late = die(process, org, probe_jobs.ending, word="transient", account_id="a")
    assert run_on(process, database) == "succeeded"
    assert (shown(bulk)["state"], shown(bulk)["done"], shown(bulk)["skipped"]) == ("finished", 3, 0)
    entries = audit(database, "deadletter.replayed")
    assert sorted(about for _, about, _ in entries) == sorted(dead)  # type: ignore[type-var] # ids
    assert {(who, facts["bulk_id"]) for who, _, facts in entries} == {("operator:ada", bulk["bulk_id"])}  # type: ignore[index] # documents
    left = {UUID(one["job_id"]) for one in answer(AREAS.deadletters, "list")}
    assert left == {other, late}
    events = database.execute("select event from audit_entries where event like 'bulk.%' order by id").fetchall()
    assert events == [("bulk.started",), ("bulk.finished",)]


def test_each_verb_does_what_its_single_deed_does(process: Runtime, org: UUID, database: Connection) -> None:
    waiting = enqueue_one(process.database, org, "probe_jobs.noop")
    parent = enqueue_one(process.database, org, "probe_jobs.parent", payload={"word": ""})
    assert run_job(process, probe_jobs.parent, parent) == "succeeded"
    canceled = start("cancel", "--job-type", "probe_jobs.noop")
    assert run_on(process, database) == "succeeded"
    assert (shown(canceled)["done"], states(database)["canceled"]) == (2, 2)
    assert {facts["bulk_id"] for _, _, facts in audit(database, "job.canceled")} == {canceled["bulk_id"]}  # type: ignore[index] # documents
    start("retry", "--state", "canceled")
    assert run_on(process, database) == "succeeded"
    assert states(database)["queued"] == 2
    again = database.execute("select state, request_id is not null from jobs where replay_of = %s", (waiting,))
    assert again.fetchone() == ("queued", True)
    dead = die(process, org, probe_jobs.ending, word="transient")
    start("mend", "--error-code", "transient", "--patch", '{"word": "well"}')
    assert run_on(process, database) == "succeeded"
    (mended,) = database.execute("select id, payload ->> 'word' from jobs where replay_of = %s", (dead,)).fetchall()
    assert mended[1] == "well"
    die(process, org, probe_jobs.ending, word="transient")
    start("discard", "--confirm", 1)
    assert run_on(process, database) == "succeeded"
    assert answer(AREAS.deadletters, "list") == []


def test_what_is_refused_is_skipped_with_the_reason_of_the_single_deed(
    process: Runtime, org: UUID, database: Connection
) -> None:
    doubtful = die(process, org, probe_jobs.effectful, **DOUBT)
    taken = dead_serial(process, org)
    enqueue_one(process.database, org, "probe_jobs.serial", payload={"word": ""})
    die(process, org, probe_jobs.ending, word="transient")
    preview = answer(BULK, "preview", "--verb", "replay")
    assert [(one["jobs"], one["example"]) for one in preview["refused"]] == [(1, str(doubtful))]
    bulk = start("replay")
    assert run_on(process, database) == "succeeded"
    assert (shown(bulk)["done"], shown(bulk)["skipped"]) == (1, 2)
    skipped = {UUID(one["job_id"]): one["reason"] for one in answer(BULK, "skipped", bulk["bulk_id"])}
    assert skipped[doubtful] == preview["refused"][0]["reason"]
    assert "has the same key" in skipped[taken]


def test_a_mend_that_fits_no_payload_is_skipped_at_its_field(process: Runtime, org: UUID, database: Connection) -> None:
    die(process, org, probe_jobs.ending, word="transient")
    bulk = start("mend", "--patch", '{"word": 5}')
    assert run_on(process, database) == "succeeded"
    assert "payload.word" in answer(BULK, "skipped", bulk["bulk_id"])[0]["reason"]
    assert "patch" in refusal(BULK, "start", "--verb", "mend", "--reason", "x")
    assert "patch" in refusal(BULK, "start", "--verb", "retry", "--reason", "x", "--patch", "{}")


def test_many_jobs_and_discarded_ones_need_their_number(process: Runtime, org: UUID, database: Connection) -> None:
    assert process
    database.execute(LETTERS.encode(), (org, 1001))
    for verb in ("replay", "discard"):
        assert answer(BULK, "preview", "--verb", verb)["confirm"] == 1001
        assert "which is 1001" in refusal(BULK, "start", "--verb", verb, "--reason", "x")
        assert "which is 1001" in refusal(BULK, "start", "--verb", verb, "--reason", "x", "--confirm", 1000)
    assert start("discard", "--confirm", 1001)["state"] == "running"


def test_single_jobs_are_listed_and_acted_on(process: Runtime, org: UUID, database: Connection) -> None:
    dead = [die(process, org, probe_jobs.ending, word="transient") for _ in range(3)]
    chosen = [option for job_id in (*dead[:2], uuid4()) for option in ("--job-id", job_id)]
    assert {one["job_id"] for one in answer(AREAS.jobs, "list", *chosen)} == set(map(str, dead[:2]))
    bulk = start("replay", *chosen, "--error-code", "transient")
    assert run_on(process, database) == "succeeded"
    assert (shown(bulk)["state"], shown(bulk)["done"], shown(bulk)["skipped"]) == ("finished", 2, 0)
    assert [one["job_id"] for one in answer(AREAS.deadletters, "list")] == [str(dead[2])]
    too_many = [option for _ in range(501) for option in ("--job-id", uuid4())]
    assert "job_id" in refusal(BULK, "preview", "--verb", "replay", *too_many)


def test_very_many_jobs_wait_for_a_second_person(process: Runtime, org: UUID, database: Connection) -> None:
    assert process
    database.execute(LETTERS.encode(), (org, 10_001))
    assert answer(BULK, "preview", "--verb", "discard")["needs_another"]
    bulk = start("discard", "--confirm", 10_001, "--as", "ada")
    assert bulk["state"] == "proposed"
    jobs = "select count(*) from jobs where job_type = 'bulk_actions.run'"
    assert "another person" in refusal(BULK, "resume", bulk["bulk_id"], "--as", "ada")
    assert answer(BULK, "abort", bulk["bulk_id"], "--as", "ada")["state"] == "aborted"
    assert "another person" in refusal(BULK, "resume", bulk["bulk_id"], "--as", "ada"), "an abort is no way around"
    assert database.execute(jobs).fetchone() == (0,)
    assert answer(BULK, "resume", bulk["bulk_id"], "--as", "grace")["state"] == "running"
    assert database.execute(jobs).fetchone() == (1,)


def test_a_job_for_a_proposed_one_ends_and_does_nothing(process: Runtime, org: UUID, database: Connection) -> None:
    """Somebody may enqueue one by hand, whom nobody else has let."""
    database.execute(LETTERS.encode(), (org, 10_001))
    bulk = start("discard", "--confirm", 10_001, "--as", "ada")
    enqueue_one(process.database, SYSTEM_ORG, "bulk_actions.run", payload={"bulk_id": bulk["bulk_id"]})
    assert run_on(process, database, most=1) == "succeeded"
    assert (shown(bulk)["state"], shown(bulk)["done"]) == ("proposed", 0)
    assert answer(BULK, "resume", bulk["bulk_id"], "--as", "grace")["state"] == "running"
    assert run_on(process, database, most=1) in {"queued", "succeeded"}
    assert shown(bulk)["done"] > 0


def test_an_abort_ends_it_within_a_batch_and_it_goes_on_where_it_was(
    process: Runtime, org: UUID, database: Connection
) -> None:
    database.execute(LETTERS.encode(), (org, 450))
    bulk = start("replay", "--per-minute", 200)
    assert run_on(process, database, most=1) == "queued"
    assert shown(bulk)["done"] == 200
    assert answer(BULK, "abort", bulk["bulk_id"])["state"] == "aborted"
    assert "is aborted already" in refusal(BULK, "abort", bulk["bulk_id"])
    pass_time(database, timedelta(minutes=1))
    assert run_on(process, database) == "succeeded"
    assert shown(bulk)["done"] == 200
    assert answer(BULK, "resume", bulk["bulk_id"])["state"] == "running"
    assert run_on(process, database) == "succeeded"
    assert (shown(bulk)["state"], shown(bulk)["done"]) == ("finished", 450)
    assert states(database) == {"queued": 450}
    twice = "select job_id from audit_entries where event = 'deadletter.replayed' group by job_id having count(*) > 1"
    assert database.execute(twice).fetchall() == []
    assert "is finished" in refusal(BULK, "resume", bulk["bulk_id"])


def test_what_somebody_has_locked_comes_again(
    process: Runtime, org: UUID, database: Connection, database_url: str
) -> None:
    dead = [die(process, org, probe_jobs.ending, word="transient") for _ in range(3)]
    bulk = start("replay")
    with psycopg.connect(database_url) as other:
        other.execute("select from dead_letters where job_id = %s for update", (dead[1],))
        assert run_on(process, database, most=1) == "queued"
        assert (shown(bulk)["done"], shown(bulk)["put_off"]) == (2, 1)
        assert answer(BULK, "skipped", bulk["bulk_id"])[0]["state"] == "again"
    pass_time(database, timedelta(minutes=1))
    assert run_on(process, database) == "succeeded"
    assert (shown(bulk)["done"], shown(bulk)["put_off"], shown(bulk)["skipped"]) == (3, 0, 0)


def test_a_letter_that_somebody_replays_meanwhile_is_not_discarded(
    process: Runtime, org: UUID, database: Connection, database_url: str
) -> None:
    dead = die(process, org, probe_jobs.ending, word="transient")
    discards = start("discard", "--confirm", 1)
    with psycopg.connect(database_url) as other:
        other.execute("select from dead_letters where job_id = %s for update", (dead,))
        assert run_on(process, database, most=1) == "queued"
        assert shown(discards)["put_off"] == 1
    new = replayed(dead)
    pass_time(database, timedelta(minutes=1))
    assert run_on(process, database) == "succeeded"
    assert (shown(discards)["done"], shown(discards)["skipped"]) == (0, 1)
    assert "is replayed already" in answer(BULK, "skipped", discards["bulk_id"])[0]["reason"]
    assert audit(database, "deadletter.discarded") == []
    assert answer(AREAS.deadletters, "show", dead)["replay_job_id"] == str(new)


def test_the_pace_holds_for_the_first_batch_and_for_what_comes_again(
    process: Runtime, org: UUID, database: Connection, database_url: str
) -> None:
    dead = [die(process, org, probe_jobs.ending, word="transient") for _ in range(3)]
    bulk = start("replay", "--per-minute", 1)
    with psycopg.connect(database_url) as other:
        other.execute("select from dead_letters where job_id = any (%s) for update", (dead[:2],))
        for batches, put_off in enumerate((1, 2, 2), start=1):
            assert run_on(process, database, most=1) == "queued"
            assert (shown(bulk)["done"], shown(bulk)["put_off"]) == (batches // 3, put_off)
            pass_time(database, timedelta(minutes=1))
    for done in (2, 2, 3):
        run_on(process, database, most=1)
        assert shown(bulk)["done"] == done
        pass_time(database, timedelta(seconds=30))


def test_what_is_given_up_says_what_kept_it(
    process: Runtime, org: UUID, database: Connection, database_url: str
) -> None:
    parent = enqueue_one(process.database, org, "probe_jobs.noop")
    bulk = start("cancel", "--job-type", "probe_jobs.noop")
    with psycopg.connect(database_url) as other:
        other.execute("select from jobs where id = %s for update", (parent,))
        assert run_on(process, database, most=1) == "queued"
    database.execute("update bulk_action_jobs set tries = %s, reason = %s", (bulk_actions.MOST_TRIES, MORE_BELOW))
    pass_time(database, timedelta(minutes=1))
    assert run_on(process, database) == "succeeded"
    assert [one["reason"] for one in answer(BULK, "skipped", bulk["bulk_id"])] == [MORE_BELOW]


def test_a_lock_beside_a_letter_keeps_no_other_letter(
    process: Runtime, org: UUID, database: Connection, database_url: str
) -> None:
    locked = die(process, org, probe_jobs.effectful, key="one", goes=["refused"])
    die(process, org, probe_jobs.effectful, key="two", goes=["refused"])
    bulk = start("replay")
    with psycopg.connect(database_url) as other:
        other.execute("select from idempotency_keys where job_id = %s for update", (locked,))
        assert run_on(process, database, most=1) == "queued"
        assert (shown(bulk)["done"], shown(bulk)["put_off"]) == (1, 1)
    pass_time(database, timedelta(minutes=1))
    assert run_on(process, database) == "succeeded"
    assert shown(bulk)["done"] == 2


def test_a_bulk_action_whose_job_has_ended_says_why_and_is_resumed(
    process: Runtime, org: UUID, client: Client, database: Connection
) -> None:
    die(process, org, probe_jobs.ending, word="transient")
    bulk = client.post("/v1/bulk-actions", {"verb": "replay", "reason": "x"}).json
    (job,) = database.execute("select id from jobs where job_type = 'bulk_actions.run'").fetchone() or (None,)
    answer(AREAS.jobs, "cancel", job, "--reason", "by mistake")
    assert (shown(bulk)["state"], shown(bulk)["stopped"]) == ("aborted", f"its job {job} is canceled: by mistake")
    assert answer(BULK, "resume", bulk["bulk_id"])["stopped"] is None
    assert run_on(process, database) == "succeeded"
    assert (shown(bulk)["state"], shown(bulk)["done"]) == ("finished", 1)


def test_an_org_acts_on_its_own_jobs_alone(
    process: Runtime, org: UUID, store: Database, door: str, client: Client, stranger: Client, database: Connection
) -> None:
    own = die(process, org, probe_jobs.ending, word="transient")
    foreign = die(process, make_org(database, "another"), probe_jobs.ending, word="transient")
    preview = client.get("/v1/bulk-actions/preview?verb=replay").json
    assert [one["job_id"] for one in preview["sample"]] == [str(own)]
    asked = {"verb": "replay", "reason": "x"}
    made = client.post("/v1/bulk-actions", asked, {"Idempotency-Key": "k"})
    again = client.post("/v1/bulk-actions", asked, {"Idempotency-Key": "k"})
    assert (made.status, again.json["bulk_id"]) == (201, made.json["bulk_id"])
    assert run_on(process, database) == "succeeded"
    assert [UUID(one["job_id"]) for one in answer(AREAS.deadletters, "list")] == [foreign]
    place = f"/v1/bulk-actions/{made.json['bulk_id']}"
    assert client.get(place).json["done"] == 1
    assert [stranger.get(place).status, stranger.post(f"{place}/abort").status] == [404, 404]
    assert stranger.get("/v1/bulk-actions").json["bulk_actions"] == []
    writer = client_of(store, door, org, Role.WRITER)
    assert writer.post("/v1/bulk-actions", asked).status == 403


def test_the_same_request_is_answered_when_nothing_matches_any_more(
    process: Runtime, org: UUID, client: Client, database: Connection
) -> None:
    die(process, org, probe_jobs.ending, word="transient")
    asked = {"verb": "discard", "reason": "x", "confirm": 1}
    made = client.post("/v1/bulk-actions", asked, {"Idempotency-Key": "k"})
    assert run_on(process, database) == "succeeded"
    again = client.post("/v1/bulk-actions", asked, {"Idempotency-Key": "k"})
    assert (made.status, again.status) == (201, 200)
    assert (again.json["bulk_id"], again.json["state"]) == (made.json["bulk_id"], "finished")
    assert client.post("/v1/bulk-actions", asked).status == 422


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (("--state", "running"), "state"),
        (("--payload", "no value"), "payload"),
        (("--payload", "a=1", "--payload", "a=2"), "payload"),
        (("--payload", "a..b=1"), "payload"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused_by_its_field(
    process: Runtime, org: UUID, options: tuple[str, ...], field: str
) -> None:
    assert process
    assert org
    assert field in refusal(BULK, "preview", "--verb", "replay", *options)
    assert "no bulk action" in refusal(BULK, "show", uuid4())


def test_a_retry_reaches_none_that_ended_after_it_began(process: Runtime, org: UUID, database: Connection) -> None:
    first, *later = (enqueue_one(process.database, org, "probe_jobs.noop") for _ in range(4))
    answer(AREAS.jobs, "cancel", first, "--reason", "not needed")
    bulk = start("retry", "--state", "canceled")
    assert answer(BULK, "abort", bulk["bulk_id"])["state"] == "aborted"
    for job_id in later:
        answer(AREAS.jobs, "cancel", job_id, "--reason", "on purpose")
    assert answer(BULK, "resume", bulk["bulk_id"])["state"] == "running"
    assert run_on(process, database) == "succeeded"
    assert (shown(bulk)["state"], shown(bulk)["done"]) == ("finished", 1)
    assert database.execute("select replay_of from jobs where replay_of is not null").fetchall() == [(first,)]


def test_one_that_would_pass_its_number_stops_and_says_so(process: Runtime, org: UUID, database: Connection) -> None:
    database.execute(LETTERS.encode(), (org, 250))
    bulk = start("discard", "--confirm", 250)
    assert bulk["most_jobs"] == 250
    assert run_on(process, database, most=1) == "queued"
    # As a transaction that began before it and ended after it leaves them.
    database.execute(LETTERS.encode(), (org, 1))
    database.execute("update dead_letters set created_at = %s where state = 'open'", (bulk["frozen_at"],))
    pass_time(database, timedelta(minutes=1))
    assert run_on(process, database) == "succeeded"
    ended = shown(bulk)
    assert (ended["state"], ended["done"]) == ("aborted", 200)
    assert "than the 250" in ended["stopped"]
    (aborted,) = audit(database, "bulk.aborted")
    assert aborted[2] == {"bulk_id": bulk["bulk_id"], "reason": ended["stopped"]}
    assert answer(BULK, "resume", bulk["bulk_id"])["stopped"] is None
    assert run_on(process, database) == "succeeded"
    assert (shown(bulk)["state"], shown(bulk)["done"]) == ("aborted", 200)
