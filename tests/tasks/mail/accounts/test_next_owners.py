"""What an earlier owner of a mailbox left behind does not reach the one who connects it next."""

from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID, uuid4

import pytest

from domain.approvals.decision import Choice
from domain.jobs.contract import JobContract
from domain.jobs.failures import Conflict
from domain.mail.actions.status import ActionStatus
from domain.mail.correspondence import EmailState
from domain.mail.triage.prompts import CLASSIFY_TOOL
from domain.payloads.actions import OrderedBy
from engine.enqueue import enqueue, enqueue_jobs
from storage.mail.actions import actions
from storage.mail.rules import rules
from tests.doubles.agents import give_agent, order_run, store_letter
from tests.doubles.approvals import decide, waiting
from tests.doubles.mail_actions import actions_of, look, stored_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import CONVERSATION, Meanwhile
from tests.tasks.mail.accounts.test_account_ends import DISCONNECTED, connect, disconnect, know_owner, leave
from tests.tasks.mail.drafts.reworks import draft_id
from tests.tasks.mail.drafts.test_orders_by_hand import (
    REFUSED,
    answers,
    archived,
    discarded,
    drafts,
    order_in_vain,
    put,
)
from tests.tasks.mail.drafts.test_withdrawn_orders import withdraw
from tests.tasks.mail.triage.test_decided_again import DELETED_BY_RULE

AHEAD = timedelta(minutes=10)


def adopt(env: MailEnvironment, job_type: str, *, made_at: datetime, **payload: str) -> UUID:
    """Take in a job as another service's Celery message brings it; returns its id."""
    document = {
        "job_id": str(uuid4()),
        "job_type": job_type,
        "org_id": str(env.account.org_id),
        "actor_type": "system",
        "actor_id": "a service",
        "request_id": "a request",
        "correlation_id": "a request",
        "idempotency_key": str(uuid4()),
        "created_at": made_at.isoformat(),
        "payload": {"account_id": str(env.account.account_id), **payload},
        "payload_version": 1,
    }
    with env.process.database.ledger() as tx:
        return enqueue_jobs(tx, [JobContract.parse(document).new_job()])[0].job_id


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("made", [-AHEAD, AHEAD], ids=["behind", "ahead"])
def test_of_which_connection_a_service_s_job_is_does_not_depend_on_its_clock(
    env: MailEnvironment, made: timedelta, *, is_known: bool
) -> None:
    if is_known:
        know_owner(env)
    of_before = adopt(env, "accounts.learn_voice", made_at=datetime.now(UTC) + made)
    env.account = connect(env, disconnect(env))
    of_next = adopt(env, "accounts.learn_voice", made_at=datetime.now(UTC) + made)
    assert (env.run(of_before), env.job(of_before)["cancel_reason"]) == ("canceled", DISCONNECTED)
    assert env.run(of_next) == "succeeded"


def test_an_order_by_label_after_one_of_a_service_whose_clock_is_ahead_is_carried_out(env: MailEnvironment) -> None:
    place = discarded(env)
    adopt(env, "drafts.write_manual", made_at=datetime.now(UTC) + AHEAD, thread_id=place.thread_id)
    env.drain()
    assert drafts(env) == 1
    env.mailbox.discard_draft(draft_id(env, place))
    env.sync()
    put(env, place)
    env.sync()
    assert drafts(env) == 1


def written(env: MailEnvironment) -> list[str]:
    """The calls that wrote mail."""
    return [call.operation for call in env.gmail.journal() if call.operation.startswith("drafts.")]


def test_what_waits_for_approval_ends_with_the_connection(env: MailEnvironment) -> None:
    action = waiting(env, subject="Of the first owner")
    env.drain()
    connect(env, leave(env))
    ended = look(env, action)
    assert (ended.state, ended.error) == (
        ActionStatus.CANCELED,
        {"code": "account.disconnected", "reason": "the account was disconnected"},
    )
    with pytest.raises(Conflict, match="Canceled: the account was disconnected"):
        decide(env, action, Choice.APPROVE)
    assert env.drain() == [("approvals.show_outcome", "succeeded")]
    facts = env.database.execute("select data from audit_log where event = 'account.disconnected'").fetchall()
    assert [(one["canceled_actions"], one["ended_orders"]) for (one,) in facts] == [([str(action)], 0)]


@pytest.mark.parametrize("is_taken_up", [False, True])
def test_an_action_that_was_approved_is_not_executed_for_the_next_owner(
    env: MailEnvironment, *, is_taken_up: bool
) -> None:
    action = waiting(env)
    with env.process.database.ledger() as tx:
        assert actions.decide(tx, action, ActionStatus.APPROVED, approver="anna")
        released = partial(enqueue, org_id=env.account.org_id)
        actions.release(tx, env.account.account_id, [action], released, by=OrderedBy.PERSON)
    if is_taken_up:
        assert env.drain(only="actions.%") == [("actions.execute", "succeeded")]
    connect(env, leave(env))
    assert ("outbound.send" if is_taken_up else "actions.execute", "canceled") in env.drain()
    assert (look(env, action).state, written(env)) == (ActionStatus.CANCELED, [])


def test_a_draft_that_an_earlier_owner_ordered_is_not_made(env: MailEnvironment) -> None:
    place = archived(env)
    env.fail("drafts.create", times=None, **REFUSED)
    env.enqueue("drafts.write_manual", {"thread_id": place.thread_id})
    env.drain()
    env.gmail.clear_faults()
    assert env.email(place.thread_id).by_hand_at is not None
    paid, consent = answers(env), leave(env)
    withdraw(env, place)
    assert env.state(place.thread_id) is EmailState.SKIPPED
    env.account = connect(env, consent)
    env.hour_later()
    assert (drafts(env), answers(env) - paid) == (0, 0)


def test_a_label_that_stands_in_the_mailbox_is_an_order_of_whoever_has_it(env: MailEnvironment) -> None:
    place = archived(env)
    order_in_vain(env, place)
    env.gmail.clear_faults()
    env.account = connect(env, leave(env))
    env.run(env.enqueue("gmail.sync_labels"))
    env.hour_later()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)


def test_a_message_that_is_decided_on_while_the_mailbox_changes_hands_orders_nothing(
    env: MailEnvironment, meanwhile: Meanwhile
) -> None:
    env.sync()
    env.deliver("Lunch?", "Could you tell me whether noon on Friday suits you? Please reply.")
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    meanwhile(CLASSIFY_TOOL, lambda: connect(env, disconnect(env)))
    assert env.drain() == [("triage.classify", "canceled")]
    assert (drafts(env), env.count("select count(*) from decisions")) == (0, 0)


def test_a_message_that_is_decided_again_while_the_mailbox_changes_hands_asks_for_no_action(
    env: MailEnvironment, meanwhile: Meanwhile
) -> None:
    """Its labels are right already, so nothing else would notice."""
    with env.process.database.ledger() as tx:
        rules.add(tx, env.account.org_id, DELETED_BY_RULE, account_id=env.account.account_id)
    place = stored_letter(env)
    assert env.run(env.enqueue("triage.classify", {"message_id": place.message_id})) == "succeeded"
    job_id = env.enqueue("triage.classify", {"message_id": place.message_id, "force": True})
    changes = len(env.gmail.journal("messages.modify"))
    meanwhile(CLASSIFY_TOOL, lambda: connect(env, disconnect(env)))
    assert (env.run(job_id), env.job(job_id)["cancel_reason"]) == ("canceled", DISCONNECTED)
    assert len(actions_of(env, place)) == 1
    assert len(env.gmail.journal("messages.modify")) == changes


def test_an_agent_whose_mailbox_changes_hands_while_it_thinks_asks_for_no_action(
    env: MailEnvironment, meanwhile: Meanwhile
) -> None:
    give_agent(env, send_allowed=True, tools=["reply"], labels=[], may_reply=True)
    place = store_letter(env)
    env.say(tool="reply", input={"body": "Noon is fine."})
    env.say(text="I am done.")

    meanwhile(CONVERSATION, lambda: meanwhile(CONVERSATION, lambda: connect(env, disconnect(env))))
    job_id = order_run(env, place)
    assert (env.run(job_id), env.job(job_id)["cancel_reason"]) == ("canceled", DISCONNECTED)
    assert actions_of(env, place) == ()
