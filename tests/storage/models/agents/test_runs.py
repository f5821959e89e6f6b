"""Runs: begun once per job, ended once, and searches that stay within what others have seen."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection
from psycopg.sql import SQL

from domain.jobs.job import Origin
from domain.models.agents.loop import Finish, RunLimit, RunStatus
from domain.models.agents.profile import parse_profile
from domain.models.agents.transcript import ModelTurn, ToolCall, ToolResult, TurnAnswer
from storage.mail.accounts.accounts import Account
from storage.mail.messages import Message
from storage.models.agents import profiles, runs
from storage.models.agents.profiles import StoredProfile
from storage.models.agents.runs import RunSubject
from storage.postgres.database import Database
from tests.doubles.factories import enqueue_one, make_job_type, make_org
from tests.doubles.mail_factories import make_account, make_message, store_message
from tests.storage.postgres.row_makers import ROW_MAKERS

NONE = timedelta()
PROFILE = parse_profile({"name": "desk", "prompt": "Be kind.", "model": "m-1", "tools": ["archive"]})
CALL = ToolCall("toolu_1", "forward_mail", {})
TURNS = (
    ModelTurn(
        TurnAnswer("tool_use", (), "I forward.", (CALL,), 7),
        (ToolResult("toolu_1", "Refused. tool: no", is_error=True),),
    ),
    ModelTurn(TurnAnswer("end_turn", (), "Done.\x00", (), 5)),
)


def about(account: Account, message: Message) -> RunSubject:
    return RunSubject(account.account_id, message.thread_id, message.message_id)


def added(store: Database, account: Account) -> StoredProfile:
    with store.ledger() as tx:
        return profiles.add(tx, account.org_id, PROFILE, by=Origin(actor_id="a test"))


def test_a_run_is_begun_once_and_ended_once(store: Database) -> None:
    account = make_account(store)
    message, stored, job_id = store_message(store, account), added(store, account), uuid4()
    end = Finish(RunStatus.STOPPED, "out of turns", RunLimit.TURNS)
    with store.tenant(account.org_id) as tx:
        begun = runs.begin(tx, job_id, about(account, message), stored)
        again = runs.begin(tx, job_id, about(account, message), stored)
        assert (begun.run_id, begun.may_have_answers, again.may_have_answers) == (again.run_id, False, True)
        assert runs.finish(tx, begun.run_id, end, TURNS, preview="Done.")
        assert not runs.finish(tx, begun.run_id, end, TURNS, preview="Done.")
        (run,) = runs.of_message(tx, account.account_id, message.message_id)
        told = tx.run("list_agent_turns", run_id=begun.run_id)
    assert (run.status, run.stopped_by, run.turns, run.cost_microcents, run.refused_calls) == (
        RunStatus.STOPPED,
        "turns",
        2,
        12,
        1,
    )
    assert told[0].calls == [{"tool": "forward_mail", "refused": "Refused. tool: no"}]
    assert told[1].said.startswith("Done.")


def test_a_run_whose_job_is_tried_once_more_begins_anew(store: Database, database: Connection) -> None:
    account = make_account(store)
    message, stored, job_id = store_message(store, account), added(store, account), uuid4()
    with store.tenant(account.org_id) as tx:
        runs.begin(tx, job_id, about(account, message), stored)
    database.execute(
        "update agent_runs set status = 'failed', reason = 'x', finished_at = now(), started_at = '2026-01-01'"
    )
    with store.tenant(account.org_id) as tx:
        again = runs.begin(tx, job_id, about(account, message), stored)
    assert (again.status, again.may_have_answers, again.worked) == (RunStatus.RUNNING, True, NONE)


def keep_step(database: Connection, account: Account, job_id: UUID, name: str, minutes: int) -> None:
    """As the ledger does: a step is kept when it ends."""
    database.execute(
        "insert into job_steps (job_id, org_id, name, result, attempt, started_at)"
        " values (%s, %s, %s, '{}', 1, now() - %s)",
        (job_id, account.org_id, name, timedelta(minutes=minutes)),
    )


def test_a_run_has_worked_as_long_as_its_attempts_and_of_a_killed_one_as_long_as_its_steps(
    store: Database, database: Connection
) -> None:
    account = make_account(store)
    message, stored, job_id = store_message(store, account), added(store, account), uuid4()
    database.execute(SQL(ROW_MAKERS["jobs"]), {"org": account.org_id, "job": job_id, "word": "x"})

    def worked() -> timedelta:
        with store.tenant(account.org_id) as tx:
            return runs.begin(tx, job_id, about(account, message), stored).worked

    def kept(name: str, minutes: int) -> None:
        keep_step(database, account, job_id, name, minutes)

    def record(minutes: int) -> None:
        with store.tenant(account.org_id) as tx:
            (run,) = runs.of_message(tx, account.account_id, message.message_id)
            runs.record_work(tx, run.run_id, timedelta(minutes=minutes))

    assert worked() == NONE
    kept("agent_turn.1", 3)
    assert worked() == timedelta(minutes=3), "its attempt was killed"
    assert worked() == timedelta(minutes=3), "nothing counts twice"
    record(5)
    record(4)
    assert worked() == timedelta(minutes=5), "with what was not kept"
    kept("agent_turn.2", 4)
    assert worked() == timedelta(minutes=9), "an attempt was killed after one that failed"
    kept("agent_turn.3", 1)
    record(11)
    assert worked() == timedelta(minutes=11), "its step is in what it said"
    database.execute("update agent_runs set status = 'failed', reason = 'x', finished_at = now()")
    assert worked() == NONE, "the job is tried once more"
    kept("agent_turn.4", 2)
    assert worked() == timedelta(minutes=2)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("failed", ("failed", None, "it broke")),
        ("dead", ("failed", None, "it broke")),
        ("canceled", ("stopped", "canceled", "it broke")),
        ("succeeded", ("failed", None, "it broke")),
    ],
)
def test_the_hook_ends_a_run_whatever_ended_its_job(
    store: Database, database: Connection, state: str, expected: tuple[str, str | None, str]
) -> None:
    account = make_account(store)
    message, stored, job_id = store_message(store, account), added(store, account), uuid4()
    with store.tenant(account.org_id) as tx:
        runs.begin(tx, job_id, about(account, message), stored)
    facts = f'{{"job_id": "{job_id}", "org_id": "{account.org_id}", "state": "{state}", "reason": "it broke"}}'
    call_hook(database, account.org_id, facts)
    row = database.execute("select status, stopped_by, reason from agent_runs").fetchone()
    assert row == expected


def call_hook(database: Connection, org_id: UUID, facts: str) -> None:
    """Call the hook as the ledger does, for the org of its job."""
    with database.transaction():
        database.execute(
            "select set_config('postroom.org', %s, true), set_config('postroom.org_seal', postroom.seal_of(%s), true)",
            (str(org_id), str(org_id)),
        )
        database.execute("select postroom.agent_run_ended(%s::jsonb)", (facts,))


def raw(sender: str, to: str, text: str, cc: str = "") -> bytes:
    return f"From: {sender}\r\nTo: {to}\r\nCc: {cc}\r\nSubject: Code\r\n\r\n{text}\r\n".encode()


def test_a_search_finds_what_all_have_seen_and_no_other_account(store: Database) -> None:
    account, other = make_account(store), make_account(store, email="you@example.com")
    me, ada, eve = "me@example.com", "ada@example.org", "Eve@evil.example"
    mails = {
        "from-ada": raw(ada, me, "code one"),
        "to-ada": raw(me, ada, "code two"),
        "both": raw(ada, me, "Code three", cc=eve),
        "boss": raw("boss@example.com", me, "code four"),
    }
    for place, (name, text) in enumerate(mails.items()):
        store_message(store, account, make_message(name, f"t-{name}", raw=text, minutes=place))
    store_message(store, other, make_message("theirs", "t-theirs", raw=raw(ada, me, "code five")))

    def found(query: str, *seen_by: str, but: str = "t0") -> list[str]:
        with store.tenant(account.org_id) as tx:
            hits = runs.search(tx, account.account_id, query, but_thread=but, seen_by=seen_by, limit=10)
        return [hit.message_id for hit in hits]

    assert found("code", ada) == ["both", "to-ada", "from-ada"]
    assert found("code", ada, eve.lower()) == ["both"]
    assert found("code THREE", ada) == ["both"]
    assert found("code", ada, but="t-both") == ["to-ada", "from-ada"]
    assert found("code") == ["boss", "both", "to-ada", "from-ada"]
    assert found("code", "nobody@example.com") == []
    assert found("%", ada) == []
    spellings = ('"Info"@bücher.example', "info@BÜCHER.example", "info@xn--bcher-kva.example")
    for place, spelling in enumerate(spellings):
        text = raw(spelling, me, "code six") if place else raw(me, spelling, "code six")
        store_message(store, account, make_message(f"six-{place}", f"t-six-{place}", raw=text))
    assert set(found("six", "info@xn--bcher-kva.example")) == {"six-0", "six-1", "six-2"}


def test_a_job_knows_by_itself_what_it_does_again(store: Database, database: Connection) -> None:
    """The audit log knows it too, and is asked about jobs that are past their retention alone."""
    org = make_org(database)
    make_job_type(store)
    first = enqueue_one(store, org)
    second = enqueue_one(store, org, replay_of=first)
    database.execute("set session_replication_role = replica")
    database.execute("delete from audit_entries where job_id = %s", (second,))
    database.execute("reset session_replication_role")
    with store.ledger() as tx:
        assert runs.jobs_done_again(tx, second) == {first, second}
