"""Executing actions: each does what it says, once, and ends with its job; what it cannot do it says by field."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from domain.jobs.failures import Conflict
from domain.jobs.job import Origin
from domain.mail.actions.action import Action
from domain.mail.actions.kinds import ActionKind, Inverse
from domain.mail.actions.label_actions import ApplyLabel, Archive, MarkRead, MarkUnread, RemoveLabel, Star, Unstar
from domain.mail.actions.requested_action import AutoReply, Delete, Forward, Restore, Trash
from domain.mail.actions.status import ActionStatus
from domain.mail.actions.undo_hint import UndoHint
from domain.payloads.outbound import SendPayload
from operations.jobs import replays
from storage.jobs import ledger
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from tests.doubles.mail_actions import ask, do, job_of, labels, look, stored_labels, stored_letter
from tests.doubles.mail_environment import MailEnvironment, connect
from tests.sandbox.sdk import gmail_users

FULL_SCOPE = "https://mail.google.com/"


def hint(env: MailEnvironment, action_id: UUID) -> UndoHint:
    return UndoHint.model_validate(look(env, action_id).undo_hint)


def make_label(env: MailEnvironment, name: str = "Projects") -> str:
    """As the person does in Gmail's settings."""
    with gmail_users(env.gmail.url) as users:
        made = str(users.labels().create(userId="me", body={"name": name}).execute()["id"])
    env.enqueue("gmail.sync_labels")
    env.drain(only="gmail.sync_labels")
    return made


def delete_label(env: MailEnvironment, label_id: str) -> None:
    with gmail_users(env.gmail.url) as users:
        users.labels().delete(userId="me", id=label_id).execute()


LABELLED: list[tuple[Action, tuple[str, ...], set[str], Inverse]] = [
    (Archive(), (), {"UNREAD"}, Inverse.APPLY_LABEL),
    (MarkRead(), (), {"INBOX"}, Inverse.MARK_UNREAD),
    (MarkUnread(), (), {"INBOX", "UNREAD"}, Inverse.MARK_READ),
    (Star(), (), {"INBOX", "UNREAD", "STARRED"}, Inverse.UNSTAR),
    (Unstar(), ("STARRED",), {"INBOX", "UNREAD"}, Inverse.STAR),
    (ApplyLabel(label_id="IMPORTANT"), (), {"INBOX", "UNREAD", "IMPORTANT"}, Inverse.REMOVE_LABEL),
    (RemoveLabel(label_id="IMPORTANT"), ("IMPORTANT",), {"INBOX", "UNREAD"}, Inverse.APPLY_LABEL),
    (Trash(), (), {"UNREAD", "TRASH"}, Inverse.RESTORE),
    (Restore(), ("TRASH",), {"INBOX", "UNREAD"}, Inverse.TRASH),
]


@pytest.mark.parametrize(
    ("action", "at_first", "afterwards", "inverse"), LABELLED, ids=lambda one: getattr(one, "kind", "")
)
def test_an_action_changes_labels_and_says_how_it_is_taken_back(
    env: MailEnvironment, action: Action, at_first: tuple[str, ...], afterwards: set[str], inverse: Inverse
) -> None:
    place = stored_letter(env)
    env.mailbox.label_message(place.message_id, add=at_first)
    before = labels(env, place)
    done = do(env, place, action)
    assert done.state is ActionStatus.DONE, done.error
    assert labels(env, place) == stored_labels(env, place) == afterwards
    kept = hint(env, done.action_id)
    assert (kept.inverse_action, set(kept.labels_before or ()), kept.irreversible) == (inverse, before, False)


def test_a_restore_takes_a_message_out_of_the_trash(env: MailEnvironment) -> None:
    place = stored_letter(env)
    do(env, place, Trash())
    assert do(env, place, Restore()).state is ActionStatus.DONE
    assert labels(env, place) == {"UNREAD"}


def test_what_is_deleted_for_good_is_gone_and_says_so(env: MailEnvironment) -> None:
    place = stored_letter(env)
    env.mailbox.grant(FULL_SCOPE)
    done = do(env, place, Delete())
    assert done.state is ActionStatus.DONE, done.error
    assert env.mailbox.state().message(place.message_id) is None
    assert hint(env, done.action_id).document().items() >= {"inverse_action": "none", "irreversible": True}.items()
    assert env.count("select count(*) from messages where deleted_at is not null") == 1


def test_a_consent_that_does_not_cover_deletion_parks_nothing(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, Delete())
    assert done.state is ActionStatus.FAILED
    assert done.error is not None
    assert done.error["code"] == "action.scope_missing"
    assert env.count("select count(*) from accounts where status = 'active'") == 1
    assert do(env, place, Trash()).state is ActionStatus.DONE


def test_our_own_writes_come_back_and_change_nothing(env: MailEnvironment) -> None:
    place = stored_letter(env)
    for action in (Archive(), Star(), Trash(), Restore()):
        assert do(env, place, action).state is ActionStatus.DONE
    with gmail_users(env.gmail.url) as users:
        users.messages().modify(userId="me", id=place.message_id, body={"addLabelIds": ["INBOX"]}).execute()
    assert [job for job, _ in env.sync() if job != "gmail.sync"] == ["gmail.ingest", "triage.classify"], (
        "the person's own move to the inbox is news, and nothing else is"
    )


def test_a_deletion_of_our_own_is_no_news(env: MailEnvironment) -> None:
    place = stored_letter(env)
    env.mailbox.grant(FULL_SCOPE)
    do(env, place, Delete())
    assert [job for job, _ in env.sync()] == ["gmail.sync"]


@pytest.mark.parametrize("fault", [{"status": 503}, {"status": 429}, {"drop": "after"}])
def test_a_passing_failure_is_tried_again_and_the_pre_image_is_the_first(
    env: MailEnvironment, fault: dict[str, Any]
) -> None:
    place = stored_letter(env)
    before = labels(env, place)
    env.fail("messages.modify", **fault)
    made = ask(env, place, Archive())
    job_id = env.enqueue("action.gmail", {"action_id": str(made)})
    assert job_id == look(env, made).job_id, "one job per action, by any name"
    assert env.run(job_id) == "queued"
    assert look(env, made).state is ActionStatus.EXECUTING
    env.database.execute("delete from gates")
    env.drain(only="actions.execute")
    done = look(env, made)
    assert done.state is ActionStatus.DONE, done.error
    kept = hint(env, done.action_id)
    assert set(kept.labels_before or ()) == before
    assert kept.inverse_parameters.add_labels == ("INBOX",)


def test_a_deletion_whose_answer_was_lost_is_done(env: MailEnvironment) -> None:
    place = stored_letter(env)
    env.mailbox.grant(FULL_SCOPE)
    env.fail("messages.delete", drop="after")
    assert do(env, place, Delete()).state is ActionStatus.DONE
    assert env.mailbox.state().message(place.message_id) is None


def test_an_action_on_a_deleted_message_fails_and_says_why(env: MailEnvironment) -> None:
    place = stored_letter(env)
    env.mailbox.delete_message(place.message_id)
    for action in (Archive(), Trash(), Delete()):
        done = do(env, place, action)
        assert done.state is ActionStatus.FAILED
        assert done.error is not None
        assert (done.error["code"], done.error["reason"]) == (
            "action.message_gone",
            "the message was deleted from the mailbox",
        )
        assert job_of(env, done.action_id)["state"] == "failed"


def test_a_label_that_vanished_is_refused_by_its_field(env: MailEnvironment) -> None:
    place, label_id = stored_letter(env), make_label(env)
    delete_label(env, label_id)
    done = do(env, place, ApplyLabel(label_id=label_id))
    assert done.state is ActionStatus.FAILED
    assert done.error is not None
    assert done.error["code"] == "action.label_gone"
    assert done.error["reason"].startswith("label_id: ")


def test_a_label_that_was_made_again_is_found_by_its_name(env: MailEnvironment) -> None:
    place, old = stored_letter(env), make_label(env)
    delete_label(env, old)
    env.enqueue("gmail.sync_labels")
    env.drain(only="gmail.sync_labels")
    new = make_label(env)
    assert new != old
    assert do(env, place, ApplyLabel(label_id=old)).state is ActionStatus.DONE
    assert new in labels(env, place)


def test_parameters_that_nobody_can_read_fail_the_action_by_field(env: MailEnvironment) -> None:
    place = stored_letter(env)
    made = ask(env, place, ApplyLabel(label_id="IMPORTANT"))
    env.database.execute("update actions set parameters = '{}' where id = %s", (made,))
    env.drain(only="actions.execute")
    done = look(env, made)
    assert (done.state, job_of(env, made)["state"]) == (ActionStatus.FAILED, "failed")
    assert done.error is not None
    assert done.error["reason"].startswith("parameters.label_id: ")


@pytest.mark.parametrize("status", [ActionStatus.APPROVED_PENDING])
def test_what_waits_for_approval_is_not_executed(env: MailEnvironment, status: ActionStatus) -> None:
    place = stored_letter(env)
    made = ask(env, place, Delete(), status)
    job_id = env.enqueue("actions.execute", {"action_id": str(made)})
    env.drain(only="actions.execute")
    assert env.job(job_id)["error"]["code"] == "action.not_ready"
    assert look(env, made).state is status
    assert env.mailbox.state().message(place.message_id) is not None


def test_an_executed_action_is_not_executed_again(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, Archive())
    env.mailbox.label_message(place.message_id, add=("INBOX",))
    job_id = env.enqueue("actions.execute", {"action_id": str(done.action_id)})
    env.drain(only="actions.execute")
    assert env.job(job_id)["state"] == "failed"
    assert "INBOX" in labels(env, place)
    assert look(env, done.action_id).state is ActionStatus.DONE


def other_account(env: MailEnvironment) -> Account:
    env.gmail.create_account("two@postroom.example", "access-2", "refresh-2")
    return connect(env.process, "two@postroom.example", "access-2", "refresh-2")


def test_an_action_of_another_account_is_refused(env: MailEnvironment) -> None:
    made = ask(env, stored_letter(env), Archive())
    other = other_account(env)
    payload = {"account_id": str(other.account_id), "action_id": str(made)}
    job_id = env.enqueue("actions.execute", payload)
    assert env.run(job_id) == "failed"
    assert env.job(job_id)["error"]["code"] == "action.mismatch"
    assert look(env, made).state is ActionStatus.QUEUED


def test_an_action_that_does_not_exist_is_refused(env: MailEnvironment) -> None:
    job_id = env.enqueue("actions.execute", {"action_id": str(uuid4())})
    assert env.run(job_id) == "failed"
    assert env.job(job_id)["error"]["reason"].startswith("action_id: ")


def test_an_action_goes_with_its_job_when_that_is_canceled(env: MailEnvironment) -> None:
    made = ask(env, stored_letter(env), Archive())
    job_id = look(env, made).job_id
    assert job_id is not None
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [job_id], "enough", by=Origin())
    done = look(env, made)
    assert done.state is ActionStatus.CANCELED
    assert done.error is not None


def test_a_canceled_job_whose_action_is_over_is_not_done_again(env: MailEnvironment) -> None:
    """No job may take the action up any more, so that the retry could only fail."""
    made = ask(env, stored_letter(env), Archive())
    job_id = look(env, made).job_id
    assert job_id is not None
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [job_id], "enough", by=Origin())
    with env.process.database.ledger() as tx, pytest.raises(Conflict, match="order the action anew"):
        replays.retry(tx, job_id, by=Origin(), reason="again")


def test_a_dead_job_whose_action_has_failed_is_done_again(env: MailEnvironment) -> None:
    env.fail("messages.modify", times=5, status=503)
    done = do(env, stored_letter(env), Archive())
    assert done.state is ActionStatus.FAILED
    assert done.job_id is not None
    with env.process.database.ledger() as tx:
        again = replays.retry(tx, done.job_id, by=Origin(), reason="again")
    assert env.run(again) == "succeeded"
    assert look(env, done.action_id).state is ActionStatus.DONE


def test_an_action_whose_job_has_used_up_its_attempts_has_failed(env: MailEnvironment) -> None:
    place = stored_letter(env)
    env.fail("messages.modify", times=None, status=503)
    done = do(env, place, Archive())
    assert (done.state, job_of(env, done.action_id)["state"]) == (ActionStatus.FAILED, "dead")
    assert job_of(env, done.action_id)["attempt"] == 5


SENT: list[tuple[Action, dict[str, Any]]] = [
    (
        Forward(to=("a@example.org",), note="see below"),
        {"message_type": "forward", "to": ["a@example.org"], "body_plain": "see below", "thread_id": None},
    ),
    (
        AutoReply(text="I am away."),
        {"message_type": "reply", "to": ["Anna Example <anna@example.com>"], "body_plain": "I am away."},
    ),
]


@pytest.mark.parametrize(("action", "mail"), SENT, ids=["forward", "auto_reply"])
def test_mail_that_leaves_is_handed_to_outbound_with_its_action(
    env: MailEnvironment, action: Action, mail: dict[str, Any]
) -> None:
    place = stored_letter(env)
    done = do(env, place, action)
    assert done.state is ActionStatus.EXECUTING
    send = job_of(env, done.action_id)
    assert send["job_type"] == SendPayload.declaration.job_type
    payload = SendPayload.read(send["payload"], send["payload_version"])
    assert payload.original_message_id == place.message_id
    assert payload.document().items() >= {name: value for name, value in mail.items() if value is not None}.items()
    assert env.count("select count(*) from jobs where job_type = 'actions.execute' and state = 'succeeded'") == 1


def test_automated_mail_is_not_answered(env: MailEnvironment) -> None:
    place = stored_letter(env)
    env.database.execute("update messages set automation_kind = 'bounce', automation_weight = 'certain'")
    done = do(env, place, AutoReply(text="I am away."))
    assert done.state is ActionStatus.FAILED
    assert done.error is not None
    assert done.error["code"] == "action.automated_mail"
    assert env.count("select count(*) from jobs where job_type = 'outbound.send'") == 0


def test_a_rules_and_a_models_actions_are_executed_once_per_decision(env: MailEnvironment) -> None:
    label_id = make_label(env)
    env.database.execute("update labels set for_classifier = true where gmail_label_id = %s", (label_id,))
    env.sync()
    env.say(input_update={"actions": ["star"], "labels": ["Projects"], "classification": "fyi", "needs_reply": False})
    place = env.deliver("News", "For your information only.")
    env.sync()
    assert labels(env, place) == {"INBOX", "UNREAD", "STARRED", label_id}
    with env.process.database.tenant(env.account.org_id) as tx:
        found = actions.of_message(tx, env.account.account_id, place.message_id)
    assert [(one.kind, one.state) for one in found] == [
        (ActionKind.STAR, ActionStatus.DONE),
        (ActionKind.APPLY_LABEL, ActionStatus.DONE),
    ]
    env.enqueue("triage.classify", {"message_id": place.message_id})
    env.drain()
    assert env.count("select count(*) from actions") == 2


def test_an_unsure_models_actions_wait(env: MailEnvironment) -> None:
    env.sync()
    env.say(input_update={"actions": ["archive"], "confidence": 0.6, "classification": "fyi", "needs_reply": False})
    place = env.deliver("News", "For your information only.")
    env.sync()
    assert "INBOX" in labels(env, place)
    assert env.count("select count(*) from actions where state = 'approved_pending' and job_id is null") == 1
