"""Taking actions back: exactly, once, and only what can be taken back."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from domain.jobs.job import ActorType, Origin
from domain.mail.actions.action import Action
from domain.mail.actions.kinds import ActionKind
from domain.mail.actions.label_actions import ApplyLabel, Archive, MarkRead, MarkUnread, RemoveLabel, Star, Unstar
from domain.mail.actions.requested_action import Delete, Restore, Trash
from domain.mail.actions.snooze import Snooze
from domain.mail.actions.status import ActionStatus
from domain.orgs.access.api_keys import Role
from operations.jobs import cancellations
from tests.doubles.mail_actions import ask, do, labels, look, stored_labels, stored_letter, undo
from tests.doubles.mail_environment import MailEnvironment
from tests.gateway.api.conftest import client_of
from tests.gateway.serving import serve
from tests.tasks.mail.accounts.test_account_ends import connect, disconnect, know_owner
from tests.tasks.mail.actions.test_actions import delete_label, make_label, other_account
from tests.tasks.mail.actions.test_snoozing import TWO_HOURS

UNDOABLE: list[Action] = [
    Archive(),
    MarkRead(),
    MarkUnread(),
    Star(),
    Unstar(),
    ApplyLabel(label_id="IMPORTANT"),
    RemoveLabel(label_id="IMPORTANT"),
    Trash(),
    Restore(),
    Snooze(amount=2, units="hours"),
]
CHANGEABLE = ("INBOX", "UNREAD", "STARRED", "IMPORTANT", "TRASH")


def code_of(env: MailEnvironment, job_id: UUID) -> str:
    return str(env.job(job_id)["error"]["code"])


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@example(action=Trash(), at_first={"INBOX", "UNREAD"}, keeps_inbox=False, gives_inbox=False)
@example(action=Trash(), at_first={"UNREAD"}, keeps_inbox=True, gives_inbox=True)
@given(
    action=st.sampled_from(UNDOABLE),
    at_first=st.sets(st.sampled_from(CHANGEABLE)),
    keeps_inbox=st.booleans(),
    gives_inbox=st.booleans(),
)
def test_undo_restores_the_mailbox_exactly(
    env: MailEnvironment, action: Action, at_first: set[str], *, keeps_inbox: bool, gives_inbox: bool
) -> None:
    env.mailbox.turn(trash_keeps_inbox=keeps_inbox, untrash_gives_inbox=gives_inbox)
    place = stored_letter(env)
    env.mailbox.label_message(place.message_id, add=tuple(at_first), remove=tuple(set(CHANGEABLE) - at_first))
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    before = labels(env, place)
    done = do(env, place, action)
    assert done.state is ActionStatus.DONE, done.error
    job_id = undo(env, done.action_id)
    assert env.job(job_id)["state"] == "succeeded", env.job(job_id)["error"]
    assert labels(env, place) == stored_labels(env, place) == before
    assert look(env, done.action_id).state is ActionStatus.UNDONE


def test_an_undo_is_an_action_of_its_own_and_linked(env: MailEnvironment) -> None:
    done = do(env, stored_letter(env), Archive())
    job_id = undo(env, done.action_id)
    original = look(env, done.action_id)
    assert original.undone_by is not None
    taken_back = look(env, original.undone_by)
    assert (taken_back.kind, taken_back.state, taken_back.job_id) == (ActionKind.UNDO, ActionStatus.DONE, job_id)
    assert taken_back.undo_hint is not None
    assert taken_back.undo_hint["irreversible"] is True
    link = env.database.execute("select cause_id, effect_id, relation from action_links").fetchall()
    assert link == [(taken_back.action_id, done.action_id, "undo_of")]


def test_a_second_undo_and_the_undo_of_an_undo_are_refused(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, Archive())
    undo(env, done.action_id)
    again = undo(env, done.action_id)
    assert (env.job(again)["state"], code_of(env, again)) == ("failed", "action.not_undoable")
    undone_by = look(env, done.action_id).undone_by
    assert undone_by is not None
    of_undo = undo(env, undone_by)
    assert code_of(env, of_undo) == "action.not_undoable"
    assert env.count("select count(*) from actions") == 2
    assert "INBOX" in labels(env, place)


def test_what_cannot_be_taken_back_is_refused(env: MailEnvironment) -> None:
    place = stored_letter(env)
    env.mailbox.grant("https://mail.google.com/")
    done = do(env, place, Delete())
    assert code_of(env, undo(env, done.action_id)) == "action.not_undoable"
    assert look(env, done.action_id).state is ActionStatus.DONE


@pytest.mark.parametrize("status", [ActionStatus.APPROVED_PENDING])
def test_what_is_not_done_is_not_undone(env: MailEnvironment, status: ActionStatus) -> None:
    made = ask(env, stored_letter(env), Archive(), status)
    assert code_of(env, undo(env, made)) == "action.not_undoable"


def test_errors_say_what_is_wrong(env: MailEnvironment) -> None:
    done = do(env, stored_letter(env), Archive())
    assert code_of(env, undo(env, uuid4())) == "gone"
    other = other_account(env)
    payload = {"account_id": str(other.account_id), "original_action_id": str(done.action_id)}
    job_id = env.enqueue("actions.undo", payload)
    env.run(job_id)
    assert code_of(env, job_id) == "action.mismatch"
    assert look(env, done.action_id).state is ActionStatus.DONE


def test_an_undo_whose_answer_was_lost_goes_on_with_its_own_record(env: MailEnvironment) -> None:
    place = stored_letter(env)
    before = labels(env, place)
    done = do(env, place, Trash())
    env.fail("messages.untrash", drop="after")
    job_id = undo(env, done.action_id)
    assert (env.job(job_id)["state"], labels(env, place)) == ("succeeded", before)
    assert env.count("select count(*) from actions where kind = 'undo'") == 1


def test_an_undo_that_used_up_its_attempts_has_failed_and_may_be_asked_for_again(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, Archive())
    env.fail("messages.modify", times=None, status=503)
    dead = undo(env, done.action_id)
    assert env.job(dead)["state"] == "dead"
    undone_by = look(env, done.action_id).undone_by
    assert undone_by is not None
    assert look(env, undone_by).state is ActionStatus.FAILED
    assert look(env, done.action_id).state is ActionStatus.DONE
    env.gmail.clear_faults()
    again = undo(env, done.action_id)
    assert env.job(again)["state"] == "succeeded", env.job(again)["error"]
    assert "INBOX" in labels(env, place)
    assert (look(env, undone_by).state, look(env, undone_by).job_id) == (ActionStatus.DONE, again)


def test_an_undo_on_a_deleted_message_fails_and_says_why(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, Archive())
    env.mailbox.delete_message(place.message_id)
    job_id = undo(env, done.action_id)
    assert (env.job(job_id)["state"], code_of(env, job_id)) == ("failed", "action.message_gone")
    undone_by = look(env, done.action_id).undone_by
    assert undone_by is not None
    assert look(env, undone_by).state is ActionStatus.FAILED


def test_a_label_that_vanished_need_not_be_taken_off(env: MailEnvironment) -> None:
    place, label_id = stored_letter(env), make_label(env)
    done = do(env, place, ApplyLabel(label_id=label_id))
    delete_label(env, label_id)
    job_id = undo(env, done.action_id)
    assert env.job(job_id)["state"] == "succeeded", env.job(job_id)["error"]
    assert look(env, done.action_id).state is ActionStatus.UNDONE


def test_a_label_that_vanished_cannot_be_put_back(env: MailEnvironment) -> None:
    place, label_id = stored_letter(env), make_label(env)
    do(env, place, ApplyLabel(label_id=label_id))
    done = do(env, place, RemoveLabel(label_id=label_id))
    delete_label(env, label_id)
    assert code_of(env, undo(env, done.action_id)) == "action.label_gone"


def test_an_undo_whose_job_was_canceled_may_be_asked_for_again(env: MailEnvironment) -> None:
    done = do(env, stored_letter(env), Archive())
    env.fail("messages.modify", times=1, status=503)
    job_id = env.enqueue("actions.undo", {"original_action_id": str(done.action_id)})
    assert env.run(job_id) == "queued"
    cancellations.cancel(
        env.process.database, [job_id], "no", by=Origin(ActorType.USER, "op"), org_id=env.account.org_id
    )
    assert env.job(job_id)["state"] == "canceled"
    assert env.job(undo(env, done.action_id))["state"] == "succeeded"


@pytest.mark.parametrize("subject", ["117", "118", None])
@pytest.mark.parametrize("action", [Archive(), Trash(), ApplyLabel(label_id="IMPORTANT"), TWO_HOURS], ids=str)
def test_an_undo_of_what_a_closed_account_did_happens_by_the_account_that_has_the_mailbox_now(
    env: MailEnvironment, action: Action, subject: str | None
) -> None:
    """Or it is refused at once: where nobody has the mailbox, or another Google user has it."""
    know_owner(env)
    place = stored_letter(env)
    before = labels(env, place)
    done = do(env, place, action)
    consent = disconnect(env)
    if subject is not None:
        connect(env, replace(consent, subject=subject))
    with serve(env.process.settings) as url:
        client = client_of(env.process.database, url, env.account.org_id, Role.WRITER)
        answer = client.post(f"/v1/actions/{done.action_id}/undo")
    assert answer.status == (202 if subject == "117" else 409), answer.json
    if subject == "117":
        assert env.run(UUID(answer.json["job_id"])) == "succeeded"
        assert (labels(env, place), look(env, done.action_id).state) == (before, ActionStatus.UNDONE)


def test_an_undo_that_was_asked_for_before_its_mailbox_was_connected_again_is_done(env: MailEnvironment) -> None:
    know_owner(env)
    place = stored_letter(env)
    done = do(env, place, Archive())
    job_id = env.enqueue("actions.undo", {"original_action_id": str(done.action_id)})
    connect(env, disconnect(env))
    assert env.run(job_id) == "succeeded"
    assert "INBOX" in labels(env, place)
