"""A mailbox that its owner takes away while a job is at it: nothing new is done there, and what was done is known."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from types import ModuleType
from uuid import UUID

import pytest

from domain.jobs.job import Origin
from domain.mail.actions.label_actions import Archive
from domain.mail.actions.snooze import Snooze
from domain.mail.actions.status import ActionStatus
from engine.context import JobContext
from providers.google.gmail import GmailMailbox
from storage.mail import outgoing_mails
from storage.mail.accounts import connecting
from storage.mail.accounts.connecting import AddedMailbox, OrgMailbox
from tasks.mail import outbound
from tasks.mail.steps import mailbox_session
from tasks.mail.steps.drafts import first_draft
from tasks.mail.steps.drafts import rework as draft_rework
from tasks.mail.steps.mailbox_change import OpenThread
from tasks.mail.steps.mailbox_session import Disconnected
from tasks.models.agent_steps import draft as agent_draft
from tests.doubles.agents import give_agent, order_run, store_letter
from tests.doubles.factories import claim_one, make_org
from tests.doubles.mail_actions import ask, look, stored_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import once_after, once_before
from tests.doubles.outgoing_orders import approved, order, taken_in, times_sent
from tests.tasks.approvals.test_doubts import reconcile, told
from tests.tasks.mail.accounts.test_account_ends import connect, leave
from tests.tasks.mail.drafts.reworks import QUESTION, drafted, labels_of, put_rework, rework_job
from tests.tasks.mail.drafts.test_orders_by_hand import archived, drafts
from tests.waiting import until_a_lock_is_waited_for

Happening = Callable[[MailEnvironment], object]


def to_be_drafted(env: MailEnvironment) -> UUID:
    env.sync()
    env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    for family in ("gmail.%", "triage.%"):
        env.drain(only=family)
    return waiting(env, "drafts.write")


def ordered_by_hand(env: MailEnvironment) -> UUID:
    return env.enqueue("drafts.write_manual", {"thread_id": archived(env).thread_id})


def to_be_reworked(env: MailEnvironment) -> UUID:
    put_rework(env, drafted(env))
    return rework_job(env)


def given_to_agent(env: MailEnvironment) -> UUID:
    give_agent(env)
    return order_run(env, store_letter(env))


def waiting(env: MailEnvironment, job_type: str) -> UUID:
    query = "select id from jobs where job_type = %s and state = 'queued'"
    ((job_id,),) = env.database.execute(query, (job_type,)).fetchall()
    return UUID(str(job_id))


def come_back(env: MailEnvironment) -> None:
    connect(env, leave(env))


def go_to_another_org(env: MailEnvironment) -> None:
    place = OrgMailbox(make_org(env.database), env.account.email, "new.owner@postroom.example")
    consent = leave(env)
    with env.process.database.ledger() as tx:
        assert isinstance(connecting.connect(tx, env.process.sealer, place, consent, by=Origin()), AddedMailbox)


def writes(env: MailEnvironment, since: int = 0) -> list[str]:
    """The calls that changed the mailbox."""
    ends = (".create", ".update", ".delete", ".send", "odify", "rash")
    return [call.operation for call in env.gmail.journal()[since:] if call.operation.endswith(ends)]


def effects(env: MailEnvironment, job_id: UUID) -> dict[str, str]:
    """By the first word of its key: how each effect of the job stands."""
    query = "select split_part(key, ':', 1), status from idempotency_keys where kind = 'effect' and job_id = %s"
    return dict(env.database.execute(query, (job_id,)).fetchall())


def happen_and_note(env: MailEnvironment, happening: Happening, begun: list[int]) -> None:
    """Let it happen, and note how many calls there had been."""
    happening(env)
    begun.append(len(env.gmail.journal()))


def nobody_is_asked(env: MailEnvironment) -> None:
    for days in (1, 1, 8):
        reconcile(env, timedelta(days=days))
    assert told(env) == 0


@pytest.mark.parametrize("happening", [leave, come_back, go_to_another_org])
@pytest.mark.parametrize(
    ("prepare", "module", "name"),
    [
        (to_be_drafted, first_draft, "plan_event"),
        (to_be_drafted, first_draft, "draft_prompt"),
        (ordered_by_hand, first_draft, "draft_prompt"),
        (to_be_reworked, draft_rework, "threaded_message"),
        (given_to_agent, agent_draft, "reply_message"),
    ],
)
def test_no_draft_is_made_in_a_mailbox_that_was_taken_away(
    env: MailEnvironment,
    monkeypatch: pytest.MonkeyPatch,
    prepare: Callable[[MailEnvironment], UUID],
    module: ModuleType,
    name: str,
    happening: Happening,
) -> None:
    job_id = prepare(env)
    since, had = len(env.gmail.journal()), drafts(env)
    begun: list[int] = []
    happen = partial(happen_and_note, env, happening, begun)
    once_before(monkeypatch, module, name, happen)
    assert env.run(job_id) == "canceled"
    assert begun, "it happened"
    assert [one for one in writes(env, since) if one.startswith("drafts.")] == []
    assert writes(env, begun[0]) == []
    assert drafts(env) == had
    assert {"draft", "rework"}.isdisjoint(effects(env, job_id))
    nobody_is_asked(env)


@pytest.mark.parametrize("happening", [leave, come_back, go_to_another_org])
@pytest.mark.parametrize(
    ("prepare", "call"),
    [
        (to_be_drafted, "create_draft"),
        (ordered_by_hand, "create_draft"),
        (to_be_reworked, "update_draft"),
        (given_to_agent, "create_draft"),
    ],
)
def test_a_draft_whose_call_was_under_way_is_recorded_and_nothing_follows(
    env: MailEnvironment,
    monkeypatch: pytest.MonkeyPatch,
    prepare: Callable[[MailEnvironment], UUID],
    call: str,
    happening: Happening,
) -> None:
    job_id = prepare(env)
    begun: list[int] = []
    happen = partial(happen_and_note, env, happening, begun)
    once_after(monkeypatch, GmailMailbox, call, happen)
    assert env.run(job_id) == "canceled"
    assert writes(env, begun[0]) == []
    key = "rework" if prepare is to_be_reworked else "draft"
    assert effects(env, job_id)[key] == "succeeded"
    (made,) = env.mailbox.state().drafts
    assert env.email(made["thread_id"]).draft_id == made["draft_id"]
    nobody_is_asked(env)


@pytest.mark.parametrize("happening", [leave, come_back, go_to_another_org])
@pytest.mark.parametrize("action", [Archive(), Snooze(amount=1, units="hours")])
def test_an_action_changes_nothing_in_a_mailbox_that_was_taken_away(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch, action: Archive | Snooze, happening: Happening
) -> None:
    place = stored_letter(env)
    made = ask(env, place, action)
    since = len(env.gmail.journal())
    once_after(monkeypatch, GmailMailbox, "message_facts", partial(happening, env))
    assert env.run(waiting(env, "actions.execute")) == "canceled"
    assert writes(env, since) == []
    assert look(env, made).state is ActionStatus.CANCELED
    assert env.count("select count(*) from jobs where job_type = 'actions.unsnooze'") == 0
    nobody_is_asked(env)


@pytest.mark.parametrize("happening", [leave, come_back])
@pytest.mark.parametrize("is_under_way", [False, True])
def test_a_mail_is_not_sent_from_a_mailbox_that_was_taken_away(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch, happening: Happening, *, is_under_way: bool
) -> None:
    """Its draft is known where its call was under way."""
    place = taken_in(env)
    action_id = approved(env, place.message_id)
    job_id = order(env, place, action_id)
    if is_under_way:
        once_after(monkeypatch, GmailMailbox, "create_draft", partial(happening, env))
    else:
        once_before(monkeypatch, outbound, "message_bytes", partial(happening, env))
    assert env.run(job_id) == "canceled"
    assert times_sent(env) == 0
    assert drafts(env) == int(is_under_way)
    assert effects(env, job_id) == ({"outbound.draft": "succeeded"} if is_under_way else {})
    with env.process.database.tenant(env.account.org_id) as tx:
        mail = outgoing_mails.get(tx, env.account.account_id, action_id)
    assert (mail is not None and mail.draft is not None) is is_under_way
    nobody_is_asked(env)


def test_what_is_known_of_a_call_is_recorded_when_the_job_is_canceled_before_its_own_record(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The labels of a classified message were changed; then its owner takes the mailbox away."""
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    job_id = waiting(env, "triage.classify")
    once_after(monkeypatch, OpenThread, "apply", partial(leave, env))
    assert env.run(job_id) == "canceled"
    assert labels_of(env, place) == {"Postroom/Needs Response"}
    assert effects(env, job_id)["labels"] == "succeeded"
    assert env.count("select count(*) from decisions") == 0


def test_an_intent_and_a_disconnection_wait_for_each_other(env: MailEnvironment) -> None:
    job = claim_one(env.process.database, env.enqueue("drafts.write", {"thread_id": "t", "message_id": "m"}))
    ctx = JobContext(env.process, job)
    account = env.account
    ctx.hold_in_writes(lambda tx: mailbox_session.hold_mailbox(tx, account))
    with ThreadPoolExecutor(1) as threads:
        with ctx.tx() as tx:
            effect = ctx.begin_effect(tx, "draft:1")
            left = threads.submit(leave, env)
            until_a_lock_is_waited_for(env.database, describe="nobody waits")
        left.result(timeout=30)
    assert effect.carry_out(lambda: {"made": 1}) == {"made": 1}
    with pytest.raises(Disconnected):
        ctx.effect("label:1", lambda: pytest.fail("it is called"))
    with pytest.raises(Disconnected), ctx.tx():
        pytest.fail("it is opened")
    effect.record_with(lambda _: None)
    assert effects(env, job.job_id) == {"draft": "succeeded"}
