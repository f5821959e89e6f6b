"""What jobs had asked for in a mailbox that is taken away is asked for again when its user has connected it again."""

from collections.abc import Callable
from functools import partial
from uuid import UUID

import pytest

from domain.mail.actions.label_actions import Archive, Star
from domain.mail.actions.requested_action import parse_action
from domain.mail.actions.status import ActionStatus
from domain.mail.rule_language.rules import parse_rule
from domain.payloads.actions import OrderedBy
from engine.enqueue import enqueue
from providers.google.gmail import GmailMailbox
from sandbox.emulator.control import MessagePlace
from storage.mail.accounts.accounts import Consent
from storage.mail.actions import actions
from storage.mail.rules import rules
from tasks.mail.steps.mailbox_change import MailboxChange
from tests.doubles.mail_actions import actions_of, ask, labels, stored_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import once_after
from tests.doubles.outgoing_orders import approve, automatic, taken_in, times_sent
from tests.tasks.mail.accounts.test_account_ends import connect, know_owner, leave
from tests.tasks.mail.accounts.test_disconnected_meanwhile import waiting

ARCHIVE: dict[str, object] = {"kind": "archive"}
DELETE: dict[str, object] = {"kind": "delete"}
"""A person is always asked about it."""


def decided(env: MailEnvironment, *wanted: dict[str, object]) -> MessagePlace:
    """A message that a rule has decided about; the jobs of its actions have not run."""
    know_owner(env)
    made = parse_rule(
        {
            "rule_id": "x",
            "name": "Anna",
            "when": {"from": "anna@example.com"},
            "then": {"class": "fyi", "actions": [parse_action(one) for one in wanted]},
        }
    )
    with env.process.database.ledger() as tx:
        rules.add(tx, env.account.org_id, made, account_id=env.account.account_id)
    env.sync()
    place = env.deliver("News", "Nothing to do.")
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.drain(only="triage.%")
    return place


def come_back(env: MailEnvironment, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Take the mailbox away and connect it again, and let all jobs run: nothing is asked for twice."""
    consent = leave(env)
    meanwhile()
    env.account = connect(env, consent)
    env.sync()
    for _ in range(3):
        env.sync(force_full=True)


def states(env: MailEnvironment, place: MessagePlace) -> list[str]:
    return [f"{one.kind} {one.state}" for one in actions_of(env, place)]


def begin(env: MailEnvironment, operation: str, **fault: object) -> None:
    """Let the action's job be put off once, at this call."""
    env.fail(operation, **fault)
    assert env.run(waiting(env, "actions.execute_decided")) == "queued"


@pytest.mark.parametrize("fault", [{"status": 429}, {"status": 503}])
@pytest.mark.parametrize("operation", [None, "messages.get", "messages.modify"])
def test_a_decided_action_whose_job_was_not_done_is_done_after_the_next_connection(
    env: MailEnvironment, operation: str | None, fault: dict[str, int]
) -> None:
    place = decided(env, ARCHIVE)
    if operation is not None:
        begin(env, operation, **fault)
    come_back(env)
    assert states(env, place) == ["archive canceled", "archive done"]
    assert "INBOX" not in labels(env, place)


@pytest.mark.parametrize("is_approved", [True, False])
def test_a_person_is_asked_anew_about_what_they_were_asked(env: MailEnvironment, *, is_approved: bool) -> None:
    place = decided(env, DELETE)
    (asked,) = actions_of(env, place)
    if is_approved:
        approve(env, asked.action_id)
    come_back(env)
    first, second = actions_of(env, place)
    assert (first.state, second.state) == (ActionStatus.CANCELED, ActionStatus.APPROVED_PENDING)
    assert (second.approver, second.approval_expires_at is not None) == (None, True)
    questions = "select payload ->> 'approval_id' from jobs where job_type = 'approvals.notify' order by id"
    assert [UUID(one) for (one,) in env.database.execute(questions)] == [first.action_id, second.action_id]


def test_what_a_message_s_other_action_left_out_of_the_inbox_is_done(env: MailEnvironment) -> None:
    place = decided(env, ARCHIVE, {"kind": "star"})
    archived, _ = actions_of(env, place)
    assert env.run(archived.job_id or UUID(int=0)) == "succeeded"
    come_back(env)
    assert sorted(states(env, place)) == ["archive done", "star canceled", "star done"]
    assert "STARRED" in labels(env, place)


@pytest.mark.parametrize("happening", ["archived", "thrown away", "deleted"])
def test_a_message_that_its_person_has_moved_meanwhile_is_left_alone(env: MailEnvironment, happening: str) -> None:
    """Also when they move it back to the inbox later."""
    place = decided(env, {"kind": "star"})

    def move() -> None:
        match happening:
            case "archived":
                env.mailbox.archive(place.thread_id)
            case "thrown away":
                env.mailbox.label_message(place.message_id, add=("TRASH",), remove=("INBOX",))
            case "deleted":
                env.mailbox.delete_message(place.message_id)

    come_back(env, move)
    if happening != "deleted":
        env.mailbox.label_message(place.message_id, add=("INBOX",), remove=("TRASH",))
        for _ in range(2):
            env.sync(force_full=True)
        assert "STARRED" not in labels(env, place)
    assert states(env, place) == ["star canceled"]
    (left,) = actions_of(env, place)
    assert "moved" in (left.why_ended or "")


def test_what_was_done_when_the_mailbox_was_taken_away_is_not_done_again(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its person has taken it back by hand meanwhile."""
    place, consents = decided(env, ARCHIVE), list[Consent]()
    once_after(monkeypatch, MailboxChange, "apply", lambda: consents.append(leave(env)))
    assert env.run(waiting(env, "actions.execute_decided")) == "canceled"
    assert "INBOX" not in labels(env, place)
    env.mailbox.label_message(place.message_id, add=("INBOX",))
    env.account = connect(env, consents[0])
    for _ in range(2):
        env.sync(force_full=True)
    assert states(env, place) == ["archive canceled"]
    assert "INBOX" in labels(env, place)


@pytest.mark.parametrize("call", ["create_draft", "send_draft"])
def test_a_mail_that_may_have_been_sent_is_not_sent_for_another_action(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    know_owner(env)
    place, consents = taken_in(env), list[Consent]()
    decided_on = automatic(env, place.message_id)
    with env.process.database.tenant(env.account.org_id) as tx:
        jobs = partial(enqueue, org_id=env.account.org_id)
        actions.release(tx, env.account.account_id, [decided_on], jobs, by=OrderedBy.DECISION)
    env.drain(only="actions.%")
    once_after(monkeypatch, GmailMailbox, call, lambda: consents.append(leave(env)))
    env.run(waiting(env, "outbound.send"))
    env.account = connect(env, consents[0])
    for _ in range(2):
        env.sync(force_full=True)
    was_sent = call == "send_draft"
    assert states(env, place) == [f"auto_reply {'done' if was_sent else 'canceled'}"]
    assert times_sent(env) == was_sent


def test_what_a_person_has_ordered_ends_with_the_connection(env: MailEnvironment) -> None:
    know_owner(env)
    place = stored_letter(env)
    ask(env, place, Star())
    ask(env, place, Archive(), ActionStatus.APPROVED_PENDING)
    come_back(env)
    assert states(env, place) == ["star canceled", "archive canceled"]
