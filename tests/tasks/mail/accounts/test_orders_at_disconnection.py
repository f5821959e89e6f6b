"""Of an order for a mailbox and the disconnection of the mailbox, one comes first: no order outlives the connection."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from uuid import UUID

import pytest

from domain.mail.actions.label_actions import RemoveLabel
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.classification import Classification, Decision, DecisionSource
from domain.mail.triage.safety import CheckedAction
from engine.context import JobContext
from storage.mail import emails
from storage.mail.accounts import accounts
from storage.mail.decisions import Origins
from tasks.mail import drafts as drafts_family
from tasks.mail.steps import action_orders
from tasks.mail.steps.drafts import machine_drafts
from tasks.mail.steps.drafts import rework as draft_rework
from tasks.mail.steps.mailbox_change import MailboxChange, OpenThread
from tasks.mail.steps.mailbox_session import Disconnected, hold_mailbox
from tests.doubles.factories import claim_one
from tests.doubles.mail_actions import do, look, stored_letter, undo
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import once_after
from tests.doubles.outgoing_orders import FORWARD
from tests.sweep.prepared.places import stored_question
from tests.tasks.mail.accounts.test_account_ends import leave
from tests.tasks.mail.accounts.test_disconnected_meanwhile import Happening, come_back, effects
from tests.tasks.mail.drafts.reworks import draft_id, drafted, put_rework, rework_job
from tests.tasks.mail.drafts.test_orders_and_actions import NEEDS_RESPONSE, waiting
from tests.tasks.mail.drafts.test_orders_by_hand import answers, archived, drafts
from tests.waiting import until_a_lock_is_waited_for


@pytest.mark.parametrize("happening", [leave, come_back])
def test_an_order_by_hand_is_not_written_after_the_disconnection(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch, happening: Happening
) -> None:
    place = archived(env)
    before, paid = env.email(place.thread_id), answers(env)
    job_id = env.enqueue("drafts.write_manual", {"thread_id": place.thread_id})
    once_after(monkeypatch, drafts_family, "plan_by_hand", partial(happening, env))
    assert env.run(job_id) == "canceled"
    after = env.email(place.thread_id)
    assert (after.state, after.by_hand_at) == (before.state, before.by_hand_at)
    assert answers(env) == paid


def test_a_discarded_draft_is_recorded_when_the_order_is_not_written(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call was under way when the owner took the mailbox away."""
    place = drafted(env)
    env.database.execute("update emails set state = 'skipped' where gmail_thread_id = %s", (place.thread_id,))
    job_id = env.enqueue("drafts.write_manual", {"thread_id": place.thread_id})
    once_after(monkeypatch, OpenThread, "apply", partial(leave, env))
    assert env.run(job_id) == "canceled"
    assert effects(env, job_id) == {"discard": "succeeded"}
    assert (drafts(env), env.email(place.thread_id).by_hand_at) == (0, None)


def test_a_rework_is_not_begun_after_the_disconnection(env: MailEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    place = drafted(env)
    put_rework(env, place)
    job_id, paid = rework_job(env), answers(env)
    once_after(monkeypatch, draft_rework, "plan_rework", partial(leave, env))
    assert env.run(job_id) == "canceled"
    assert (answers(env), env.email(place.thread_id).draft_id) == (paid, draft_id(env, place))
    assert env.email(place.thread_id).rework_count == 0


def decide(env: MailEnvironment, between: Callable[[], object]) -> None:
    """Record a decision with an action that waits for a person, as a job does; `between` comes before its commit."""
    place, account_id = stored_letter(env), env.account.account_id
    decision = Decision(DecisionSource.LLM, Classification.FYI, 1.0, "a reason")
    checked = CheckedAction(FORWARD, ActionStatus.APPROVED_PENDING, FORWARD.danger, ("it is dangerous",))
    job = claim_one(env.process.database, env.enqueue("triage.classify", {"message_id": place.message_id}))
    ctx, origins = JobContext(env.process, job), Origins(job_id=job.job_id)
    ctx.hold_in_writes(lambda tx: hold_mailbox(tx, env.account))
    with ctx.tx() as tx:
        action_orders.record(ctx, tx, account_id, place.message_id, decision, checked=[checked], origins=origins)
        between()


def states(env: MailEnvironment) -> list[str]:
    return [state for (state,) in env.database.execute("select state from actions").fetchall()]


def test_a_disconnection_waits_for_an_order_and_ends_it(env: MailEnvironment) -> None:
    with ThreadPoolExecutor(1) as threads:

        def leave_beside() -> None:
            left.append(threads.submit(leave, env))
            until_a_lock_is_waited_for(env.database, describe="nobody waits")

        left: list[Future[object]] = []
        decide(env, leave_beside)
        left[0].result(timeout=30)
    assert states(env) == ["canceled"]


def test_an_order_waits_for_a_disconnection_and_is_not_written(env: MailEnvironment) -> None:
    with ThreadPoolExecutor(1) as threads:
        with env.process.database.ledger() as tx:
            accounts.lock(tx, env.account.account_id)
            deciding = threads.submit(decide, env, lambda: None)
            until_a_lock_is_waited_for(env.database, describe="nobody waits")
            assert accounts.disconnect(tx, env.account.account_id, "its owner left")
        with pytest.raises(Disconnected):
            deciding.result(timeout=30)
    assert states(env) == []


def without_record(env: MailEnvironment, monkeypatch: pytest.MonkeyPatch) -> UUID:
    place = stored_question(env)
    once_after(monkeypatch, emails, "get", partial(come_back, env))
    return env.enqueue("drafts.rework", {"thread_id": place.thread_id})


def with_settled_record(env: MailEnvironment, monkeypatch: pytest.MonkeyPatch) -> UUID:
    place = archived(env)
    once_after(monkeypatch, draft_rework, "plan_rework", partial(come_back, env))
    return env.enqueue("drafts.rework", {"thread_id": place.thread_id})


def with_touched_draft(env: MailEnvironment, monkeypatch: pytest.MonkeyPatch) -> UUID:
    place = drafted(env)
    put_rework(env, place)
    touched = {"touched": env.email(place.thread_id).draft_message_id}
    monkeypatch.setattr(machine_drafts, "rewrite", lambda *_: touched)
    once_after(monkeypatch, machine_drafts, "rewrite", partial(come_back, env))
    return rework_job(env)


@pytest.mark.parametrize("case", [without_record, with_settled_record, with_touched_draft])
def test_an_order_is_not_passed_on_to_a_job_of_the_next_owners(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch, case: Callable[[MailEnvironment, pytest.MonkeyPatch], UUID]
) -> None:
    """A job that follows names the closed account."""
    job_id = case(env, monkeypatch)
    env.run(job_id)
    called, paid = len(env.gmail.journal()), answers(env)
    ends = [end for _, end in env.drain(only="drafts.%")]
    assert set(ends) <= {"canceled"}
    assert (len(env.gmail.journal()), answers(env)) == (called, paid)


def test_an_undo_orders_nothing_for_the_next_owner(env: MailEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    place = waiting(env)
    removed = do(env, place, RemoveLabel(label_id=env.label(NEEDS_RESPONSE)))
    once_after(monkeypatch, MailboxChange, "carry_out", partial(come_back, env))
    jobs = "select count(*) from jobs where job_type = 'drafts.write_manual'"
    before = env.count(jobs)
    undo(env, removed.action_id)
    assert look(env, removed.action_id).state is ActionStatus.DONE
    assert env.count(jobs) == before
