"""Operators see effects that nobody knows of, and say what they found; and see which messages were refused."""

import json
from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from commands.jobs import jobs
from commands.operations import AREAS
from domain.jobs.effects import EffectStatus, Strategy
from engine.runtime import Runtime
from storage.approvals import rulings
from storage.approvals.rulings import EffectPosition
from storage.jobs import effects as ledger_effects
from storage.jobs import refusals
from tests.commands.calling import answer, call, refusal
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org

EFFECTS, KEY = AREAS.effects, "send:1"


@pytest.fixture
def unknown(process: Runtime, org: UUID) -> UUID:
    """A job whose effect nobody knows of."""
    store = process.database
    make_job_type(store, "probe.send")
    job = claim_one(store, enqueue_one(store, org, "probe.send"))
    with store.statements() as tx:
        ledger_effects.begin_effect(tx, job, KEY, Strategy.AT_MOST_ONCE, lasts=timedelta(seconds=1))
        ledger_effects.finish_effect(
            tx, job, KEY, EffectStatus.UNKNOWN, error={"code": "uncertain", "reason": "no answer"}
        )
    return job.job_id


def test_an_unknown_effect_is_listed_and_ruled(database: Connection, org: UUID, unknown: UUID) -> None:
    (line,) = answer(EFFECTS, "list", "--org", org)
    assert (line["key"], line["job_id"], line["job_type"], line["reason"]) == (
        KEY,
        str(unknown),
        "probe.send",
        "no answer",
    )
    ruled = answer(EFFECTS, "rule", KEY, "--org", org, "--happened", "--result", '{"id": 7}', "--as", "ada")
    assert ruled == {"key": KEY, "happened": True}
    assert answer(EFFECTS, "list") == []
    row = database.execute("select status, result_ref from idempotency_keys where key = %s", (KEY,)).fetchone()
    assert row == ("succeeded", {"id": 7})
    told = database.execute("select actor_id, data from audit_log where event = 'effect.ruled'").fetchone()
    assert told == ("operator:ada", {"key": KEY, "happened": True, "result": {"id": 7}})


def test_a_list_of_one_org_says_how_far_it_looked(
    process: Runtime, database: Connection, org: UUID, unknown: UUID
) -> None:
    other = make_org(database, "other")
    with process.database.ledger() as tx:
        found = rulings.listed(tx, org_id=other, limit=5, most_looked_at=1)
        assert (list(found.rows), found.reached) == ([], None)
        found = rulings.listed(tx, org_id=other, limit=5, most_looked_at=0)
        assert found.reached is not None
        later = EffectPosition(found.reached + timedelta(seconds=1), UUID(int=0))
        (line,) = rulings.listed(tx, org_id=org, after=later, limit=5).rows
    assert (line.job_id, line.since) == (unknown, found.reached)


@pytest.mark.usefixtures("unknown")
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_effects_that_are_unknown_since_one_moment_are_listed_once_each(
    database: Connection, org: UUID, limit: int
) -> None:
    """A statement leaves many to a person at once: their times are the same, and often their jobs."""
    database.execute(
        "insert into idempotency_keys (org_id, key, kind, mode, status, job_id, owner_token, expires_at, last_seen_at)"
        " select k.org_id, 'send:' || n, 'effect', k.mode, 'unknown', k.job_id, k.owner_token, k.expires_at,"
        " k.last_seen_at from idempotency_keys k, generate_series(2, 7) as n where k.key = %s",
        (KEY,),
    )
    seen: list[str] = []
    cursor: tuple[str, ...] = ()
    while True:
        shown = call(EFFECTS, "list", "--org", org, "--limit", limit, "--json", *cursor)
        seen += [line["key"] for line in json.loads(shown.stdout)]
        if not shown.stderr:
            break
        cursor = ("--cursor", shown.stderr.split()[-1])
    assert sorted(seen) == [f"send:{n}" for n in range(1, 8)]
    assert len(answer(EFFECTS, "list")) == 7


def test_effects_that_end_well_keep_out_of_the_index_of_the_unknown(
    database: Connection, org: UUID, unknown: UUID
) -> None:
    """The column is what the index is of, and it stands in unknown effects alone."""
    assert database.execute("select job_id from idempotency_keys where unknown_since is not null").fetchall() == [
        (unknown,)
    ]
    answer(EFFECTS, "rule", KEY, "--org", org, "--did-not-happen")
    assert database.execute("select from idempotency_keys where unknown_since is not null").fetchall() == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((KEY,), "happened: say --happened or --did-not-happen"),
        ((KEY, "--did-not-happen", "--result", "{}"), "result: only an effect that happened has a result"),
        ((KEY, "--happened", "--result", "[]"), "result: is no JSON object"),
        (("other", "--happened"), "there is no unknown effect other"),
    ],
)
def test_a_ruling_that_says_nothing_is_refused(org: UUID, unknown: UUID, options: tuple[str, ...], words: str) -> None:
    assert words in refusal(EFFECTS, "rule", *options, "--org", org)
    assert [line["job_id"] for line in answer(EFFECTS, "list")] == [str(unknown)]


def test_of_too_much_refused_content_only_field_and_reason_are_kept(process: Runtime, database: Connection) -> None:
    def refuse(size: int) -> bool:
        with process.database.ledger() as tx:
            refusals.record(tx, task="a", task_id="b", field="c", reason="d", sealed_content=b"x" * size)
        rows = database.execute("select sealed_content is not null from refused_messages order by id desc limit 1")
        return bool(rows.fetchall()[0][0])

    half = refusals.MOST_BYTES // 2
    assert [refuse(size) for size in (half, half, 1)] == [True, True, False]
    assert "only field and reason are kept" in refusal(jobs, "refused-content", 3)
    database.execute("update refused_messages set at = at - interval '1 day', sealed_content = 'x'")
    assert refuse(half)
    database.execute(
        "insert into refused_messages (task, task_id, field, reason, sealed_content)"
        " select 'a', 'b', 'c', 'd', 'x' from generate_series(2, %s)",
        (refusals.MOST_CONTENTS,),
    )
    assert not refuse(1)


def test_refused_messages_are_listed_the_newest_first(process: Runtime) -> None:
    with process.database.ledger() as tx:
        for field in ("org_id", "payload.word"):
            refusals.record(tx, task="probe.run", task_id="a task", field=field, reason="is wrong", sealed_content=b"")
    found = [(line["task"], line["field"], line["reason"]) for line in answer(jobs, "refused")]
    assert found == [("probe.run", "payload.word", "is wrong"), ("probe.run", "org_id", "is wrong")]
    assert len(answer(jobs, "refused", "--limit", 1)) == 1
