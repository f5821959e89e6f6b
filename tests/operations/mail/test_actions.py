"""Operators list and show actions and take them back."""

from uuid import UUID, uuid4

import pytest

from commands.operations import AREAS
from domain.mail.actions.label_actions import Archive
from domain.mail.actions.status import ActionStatus
from tests.commands.calling import answer, call, refusal
from tests.doubles.mail_actions import ask, do, labels, look, stored_letter
from tests.doubles.mail_environment import MailEnvironment

pytestmark = pytest.mark.usefixtures("env")
ORG = "The Example Org"


def test_a_done_action_is_listed_shown_and_taken_back(env: MailEnvironment) -> None:
    place = stored_letter(env)
    done = do(env, place, Archive())
    waits = ask(env, place, Archive(), ActionStatus.APPROVED_PENDING)
    listed = answer(AREAS.actions, "list", "--org", ORG, "--account", env.account.account_id)
    assert answer(AREAS.actions, "list", "--org", ORG, "--account", env.account.email) == listed
    assert "nobody" in refusal(AREAS.actions, "list", "--org", ORG, "--account", "nobody")
    assert [(one["action_id"], one["state"], one["inverse"], one["why"]) for one in listed] == [
        (str(waits), "approved_pending", "apply_label", "a reason"),
        (str(done.action_id), "done", "apply_label", ""),
    ]
    assert [one["action_id"] for one in answer(AREAS.actions, "list", "--org", ORG, "--state", "done")] == [
        str(done.action_id)
    ]
    assert answer(AREAS.actions, "list", "--org", ORG, "--message-id", "other") == []
    shown = answer(AREAS.actions, "show", done.action_id)
    assert shown["undo_hint"]["inverse_action"] == "apply_label"
    undone = answer(AREAS.actions, "undo", done.action_id, "--as", "ada")
    assert undone["created"] is True
    assert env.job(UUID(undone["job_id"]))["actor_id"] == "operator:ada"
    env.drain(only="actions.undo")
    assert "INBOX" in labels(env, place)
    undone_by = look(env, done.action_id).undone_by
    assert undone_by is not None
    assert look(env, undone_by).requested_by == "user:operator:ada"


def test_what_cannot_be_taken_back_is_refused_with_the_reason(env: MailEnvironment) -> None:
    waits = ask(env, stored_letter(env), Archive(), ActionStatus.APPROVED_PENDING)
    assert "approved_pending" in refusal(AREAS.actions, "undo", waits)
    assert "there is no action" in refusal(AREAS.actions, "undo", uuid4())
    assert "there is no action" in refusal(AREAS.actions, "show", uuid4())


def test_a_table_names_what_an_operator_looks_for(env: MailEnvironment) -> None:
    done = do(env, stored_letter(env), Archive())
    shown = call(AREAS.actions, "list", "--org", ORG).output
    assert str(done.action_id) in shown
    assert "apply_label" in shown
