"""Effects whose job ended in doubt: the provider is asked, or a person is told; nothing is repeated."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from domain.jobs.effects import KEEP_EFFECT_FOR, Strategy
from domain.jobs.failures import Gone
from domain.jobs.job import SYSTEM_ORG, Origin
from sandbox.emulator.control import MessagePlace
from storage.approvals import doubts, rulings
from storage.jobs import effects, ledger
from storage.mail import emails
from storage.mail.accounts import accounts
from tests.doubles.agents import give_agent, store_letter
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, pass_time
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.outgoing_orders import times_sent
from tests.tasks.mail.drafts.reworks import SECOND, draft_id, drafted, put_rework, rework_job
from tests.tasks.mail.drafts.test_drafts import ask, made
from tests.tasks.mail.outbound.test_outbound_failures import ordered, send_job
from tests.tasks.models.agents.test_lost_drafts import unsettled

LATER = timedelta(hours=1)


def reconcile(env: MailEnvironment, later: timedelta = LATER) -> dict[str, Any]:
    """Let the schedule's job look, later."""
    pass_time(env.database, later)
    query = "select postroom.enqueue('maintenance.reconcile_effects', %s, '{}'::jsonb)"
    ((job_id,),) = env.database.execute(query, (SYSTEM_ORG,)).fetchall()
    env.drain(only="maintenance.%")
    output: dict[str, Any] = env.job(UUID(str(job_id)))["output"]
    return output


def canceled_in_the_call(env: MailEnvironment, **order: Any) -> UUID:  # noqa: ANN401 - fields of an order
    """A draft whose call's answer was lost, and whose job was canceled before anybody found out."""
    ask(env)
    env.fail("drafts.create", **order)
    ((job_id,),) = env.database.execute("select id from jobs where job_type = 'drafts.write'").fetchall()
    assert env.run(job_id) == "queued"
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [job_id], "no longer needed", by=Origin())
    assert env.job(job_id)["state"] == "canceled"
    return UUID(str(job_id))


def interrupted(env: MailEnvironment, strategy: Strategy, key: str = "send:1") -> UUID:
    """A job that ended in the middle of a call that nobody can ask about."""
    store = env.process.database
    make_job_type(store, "probe.send")
    job = claim_one(store, enqueue_one(store, env.account.org_id, "probe.send"))
    with store.statements() as tx:
        effects.begin_effect(tx, job, key, strategy, lasts=timedelta(seconds=30))
    env.database.execute(
        "update jobs set state = 'canceled', finished_at = now(), claim_token = null, worker_id = null,"
        " next_check_at = null, cancel_requested_at = now(), cancel_reason = 'x' where id = %s",
        (job.job_id,),
    )
    return job.job_id


def status(env: MailEnvironment, job_id: UUID) -> tuple[str, object]:
    """The one draft or send of a job, and its result."""
    query = (
        "select status, result_ref from idempotency_keys"
        " where job_id = %s and kind = 'effect' and key ~ '^(draft|send):'"
    )
    ((found, result),) = env.database.execute(query, (job_id,)).fetchall()
    return str(found), result


def told(env: MailEnvironment) -> int:
    query = "select count(*) from jobs where job_type = 'deadletter.send_alert' and payload ->> 'kind' = 'effects'"
    return env.count(query)


@pytest.mark.parametrize(
    ("order", "ending"), [({"drop": "after"}, "succeeded"), ({"drop": "before"}, "failed")], ids=["made", "not made"]
)
def test_the_provider_is_asked_about_a_call_whose_job_was_canceled(
    env: MailEnvironment, order: dict[str, Any], ending: str
) -> None:
    job_id = canceled_in_the_call(env, **order)
    assert reconcile(env) == {"asked": 1, "told": 0}
    found, result = status(env, job_id)
    assert found == ending
    drafts = env.mailbox.state().drafts
    assert result == ({name: drafts[0][name] for name in ("draft_id", "message_id", "thread_id")} if drafts else None)
    assert made(env) == len(drafts) == (ending == "succeeded"), "nothing was repeated"
    assert env.count("select count(*) from audit_log where event = 'effect.resolved'") == 1
    assert reconcile(env) == {"asked": 0, "told": 0}
    assert told(env) == 0


def test_an_answer_that_comes_late_is_kept_from_then_on(env: MailEnvironment) -> None:
    job_id = canceled_in_the_call(env, drop="after")
    reconcile(env, 2 * KEEP_EFFECT_FOR)
    assert status(env, job_id)[0] == "succeeded"
    kept = "select expires_at - last_seen_at from idempotency_keys where kind = 'effect' and key like 'draft:%'"
    assert env.database.execute(kept).fetchall() == [(KEEP_EFFECT_FOR,)]


def asked_for(env: MailEnvironment) -> UUID:
    """A draft of an agent that was asked for something: its job's payload names no thread."""
    give_agent(env)
    store_letter(env)
    job_id = env.enqueue("agents.invoke", {"profile": "assistant", "prompt": "Answer anna@example.com."})
    env.fail("drafts.create", drop="after")
    assert env.run(job_id) == "queued"
    return job_id


@pytest.mark.parametrize("lost", [lambda env: unsettled(env)[1], asked_for], ids=["on a thread", "asked for"])
def test_an_agents_draft_is_asked_about_as_any_other(
    env: MailEnvironment, lost: Callable[[MailEnvironment], UUID]
) -> None:
    job_id = lost(env)
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [job_id], "no longer needed", by=Origin())
    assert reconcile(env) == {"asked": 1, "told": 0}
    (draft,) = env.mailbox.state().drafts
    found, result = status(env, job_id)
    assert (found, result) == ("succeeded", {name: draft[name] for name in ("draft_id", "message_id", "thread_id")})


@pytest.mark.parametrize("operation", ["drafts.create", "drafts.send"])
@pytest.mark.parametrize(("drop", "ending"), [("after", "succeeded"), ("before", "failed")])
def test_a_mail_of_an_action_is_asked_about(env: MailEnvironment, operation: str, drop: str, ending: str) -> None:
    ordered(env)
    env.fail(operation, drop=drop)
    job_id = send_job(env)
    assert env.run(job_id) == "queued"
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [job_id], "no longer needed", by=Origin())
    assert reconcile(env) == {"asked": 1, "told": 0}
    query = (
        "select status from idempotency_keys where job_id = %s and kind = 'effect' order by first_seen_at desc limit 1"
    )
    assert env.database.execute(query, (job_id,)).fetchall() == [(ending,)]
    assert times_sent(env) == (operation == "drafts.send" and drop == "after"), "nothing was repeated"


def test_a_person_is_told_once_of_what_nobody_can_ask_about(env: MailEnvironment) -> None:
    job_id = interrupted(env, Strategy.AT_MOST_ONCE)
    assert reconcile(env) == {"asked": 0, "told": 1}
    # At the same time: time is passed by moving rows back, and right after midnight the call would be the day before's.
    assert reconcile(env, timedelta()) == {"asked": 0, "told": 0}
    assert status(env, job_id) == ("unknown", None)
    assert told(env) == 1


def test_a_call_that_may_be_repeated_is_nobodys_business(env: MailEnvironment) -> None:
    job_id = interrupted(env, Strategy.IDEMPOTENT)
    assert reconcile(env) == {"asked": 0, "told": 0}
    assert status(env, job_id)[0] == "running"


def test_a_provider_that_cannot_tell_leaves_it_to_a_person(env: MailEnvironment) -> None:
    job_id = canceled_in_the_call(env, drop="after")
    # The thread shows the draft, the list of drafts does not: as long as the list lags, this proves nothing.
    env.fail("drafts.list", status=200, body={"resultSizeEstimate": 0}, times=None)
    assert reconcile(env)["asked"] == 1
    assert status(env, job_id)[0] == "unknown"
    assert reconcile(env) == {"asked": 0, "told": 1}
    assert told(env) == 1


def test_a_person_is_told_of_a_draft_whose_account_was_taken_away(env: MailEnvironment) -> None:
    """Its mailbox will never be asked."""
    job_id = canceled_in_the_call(env, drop="after")
    with env.process.database.ledger() as tx:
        accounts.disconnect(tx, env.account.account_id, "its owner left")
    assert reconcile(env)["asked"] == 1
    assert status(env, job_id)[0] == "unknown"
    assert reconcile(env) == {"asked": 0, "told": 1}


def test_a_call_that_may_still_be_under_way_is_left_alone(env: MailEnvironment) -> None:
    job_id = canceled_in_the_call(env, drop="after")
    env.database.execute(
        "update idempotency_keys set may_last_until = now() + interval '3 hours' where status = 'running'"
    )
    assert reconcile(env) == {"asked": 0, "told": 0}
    assert status(env, job_id)[0] == "running"


def test_many_effects_are_looked_through_page_by_page(env: MailEnvironment) -> None:
    for number in range(5):
        interrupted(env, Strategy.AT_MOST_ONCE, f"send:{number}")
    pass_time(env.database, LATER)
    found, place = [], (UUID(int=0), "")
    with env.process.database.ledger() as tx:
        while True:
            page = doubts.listed(tx, after=place, batch=2)
            found += [one.key for one in page.doubts]
            if page.place is None:
                break
            place = page.place
    assert sorted(found) == [f"send:{number}" for number in range(5)]


def test_only_the_job_that_asks_may_write_the_answer(env: MailEnvironment) -> None:
    """Any handler may call the function; it writes for jobs of one type."""
    job_id = interrupted(env, Strategy.FIND)
    pass_time(env.database, LATER)
    other = claim_one(env.process.database, enqueue_one(env.process.database, env.account.org_id, "probe.send"))
    with env.process.database.tenant(env.account.org_id) as tx:
        assert doubts.read(tx, other, "send:1") is None
        row = tx.raw(
            "select postroom.conclude_doubt(%(job)s, %(token)s, 'send:1', now(), 'succeeded', null, null) as done",
            {"job": other.job_id, "token": other.token},
        )
        assert row[0].done is False
    assert status(env, job_id)[0] == "running"


def test_a_person_says_what_became_of_an_effect(env: MailEnvironment) -> None:
    job_id = interrupted(env, Strategy.AT_MOST_ONCE)
    reconcile(env)
    with env.process.database.ledger() as tx:
        (listed,) = rulings.listed(tx, org_id=env.account.org_id, limit=10).rows
        assert (listed.key, listed.job_id, listed.strategy) == ("send:1", job_id, "at_most_once")
        rulings.rule(tx, env.account.org_id, "send:1", happened=True, result={"id": 7})
        assert rulings.listed(tx, org_id=None, limit=10).rows == []
        with pytest.raises(Gone, match="no unknown effect send:1"):
            rulings.rule(tx, env.account.org_id, "send:1", happened=False, result={})
    assert status(env, job_id) == ("succeeded", {"id": 7})


def canceled_rework(env: MailEnvironment, drop: str) -> tuple[MessagePlace, UUID]:
    """A rework whose call's answer was lost, and whose job was canceled before anybody found out."""
    place = drafted(env)
    put_rework(env, place)
    job_id = rework_job(env)
    env.say(input={"body": SECOND, "confidence": 0.9})
    env.fail("drafts.update", drop=drop)
    assert env.run(job_id) == "queued"
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [job_id], "no longer needed", by=Origin())
    return place, job_id


def resolved_rework(env: MailEnvironment, job_id: UUID) -> tuple[str, dict[str, Any] | None]:
    query = "select status, result_ref from idempotency_keys where job_id = %s and kind = 'effect' and key ~ '^rework:'"
    ((found, result),) = env.database.execute(query, (job_id,)).fetchall()
    return str(found), result


@pytest.mark.parametrize(("drop", "ending"), [("after", "succeeded"), ("before", "failed")])
def test_a_rework_is_asked_about(env: MailEnvironment, drop: str, ending: str) -> None:
    _, job_id = canceled_rework(env, drop)
    calls = len(env.gmail.journal("drafts.update"))
    assert reconcile(env) == {"asked": 1, "told": 0}
    (draft,) = env.mailbox.state().drafts
    found, result = resolved_rework(env, job_id)
    shown = {name: draft[name] for name in ("draft_id", "message_id", "thread_id")}
    assert (found, result) == (ending, shown if ending == "succeeded" else None)
    assert len(env.gmail.journal("drafts.update")) == calls, "nothing was repeated"


def test_a_rework_whose_draft_its_person_has_thrown_away_is_known(env: MailEnvironment) -> None:
    place, job_id = canceled_rework(env, "before")
    env.mailbox.discard_draft(draft_id(env, place))
    assert reconcile(env) == {"asked": 1, "told": 0}
    assert resolved_rework(env, job_id) == ("succeeded", {"gone": True})


def reworked_since(env: MailEnvironment) -> None:
    """The record is that of another rework."""
    env.database.execute(
        "insert into draft_tokens (org_id, account_id, token, gmail_thread_id)"
        " select org_id, account_id, 'another-token', gmail_thread_id from emails"
    )
    env.database.execute("update emails set state = 'drafted', draft_token = 'another-token'")


def forgotten(env: MailEnvironment) -> None:
    """The record names no draft any more."""
    env.database.execute("update emails set state = 'archived'")
    with env.process.database.ledger() as tx:
        (thread_id,) = [row.thread_id for row in tx.raw("select gmail_thread_id as thread_id from emails")]
        assert emails.forget_draft(tx, env.account.account_id, thread_id)


@pytest.mark.parametrize("moved", [reworked_since, forgotten])
def test_of_a_rework_whose_record_has_moved_on_a_person_is_told(
    env: MailEnvironment, moved: Callable[[MailEnvironment], None]
) -> None:
    _, job_id = canceled_rework(env, "before")
    moved(env)
    assert reconcile(env) == {"asked": 1, "told": 0}
    assert resolved_rework(env, job_id)[0] == "unknown"


def test_a_rework_is_known_by_its_token_also_when_the_record_has_moved_on(env: MailEnvironment) -> None:
    _, job_id = canceled_rework(env, "after")
    reworked_since(env)
    assert reconcile(env) == {"asked": 1, "told": 0}
    assert resolved_rework(env, job_id)[0] == "succeeded"
