"""Operators see what waits, decide, choose a channel, and say who may approve."""

from uuid import uuid4

import pytest

from commands import approvals, users
from domain.approvals.decision import Refusal
from domain.approvals.outcome import WORDS
from domain.mail.actions.status import ActionStatus
from tests.commands.calling import answer, refusal
from tests.doubles.approvals import waiting
from tests.doubles.mail_actions import look
from tests.doubles.mail_environment import OWNER, MailEnvironment

pytestmark = pytest.mark.usefixtures("env")
ORG = "The Example Org"


def test_what_waits_is_listed_shown_and_approved(env: MailEnvironment) -> None:
    made = waiting(env, subject="Lunch?")
    ((listed),) = answer(approvals, "list", "--org", ORG)
    assert (listed["action_id"], listed["why"]) == (str(made), "a reason")
    shown = answer(approvals, "show", made)
    assert (shown["question"]["Subject"], shown["question"]["To"]) == ("Lunch?", "bob@example.org")
    decided = answer(approvals, "approve", made, "--as", "ada", "--reason", "fine")
    assert (decided["state"], decided["approver"]) == ("approved", "operator:ada")
    assert answer(approvals, "list", "--org", ORG) == []
    env.drain()
    assert look(env, made).state is ActionStatus.DONE


def test_what_is_denied_cannot_be_approved(env: MailEnvironment) -> None:
    made = waiting(env)
    assert answer(approvals, "deny", made)["state"] == "denied"
    assert "Denied by operator:" in refusal(approvals, "approve", made)
    assert "there is no action" in refusal(approvals, "deny", uuid4())


def test_what_is_older_than_the_connection_of_its_mailbox_is_refused_in_the_words_of_the_button(
    env: MailEnvironment,
) -> None:
    made = waiting(env)
    env.database.execute("update actions set created_at = created_at - interval '1 second'")
    env.database.execute("update accounts set connected_at = now()")
    assert f"action_id: {WORDS[Refusal.CONNECTED_ANEW]}" in refusal(approvals, "approve", made)
    assert answer(approvals, "deny", made)["state"] == "denied"


def test_a_channel_is_chosen_and_removed() -> None:
    assert answer(approvals, "channel", "--org", ORG, "--discord", "123")["channel_id"] == "123"
    assert "channel: " in refusal(approvals, "channel", "--org", ORG, "--discord", "#general")
    assert answer(approvals, "channel", "--org", ORG)["channel_id"] == "123"
    assert "no channel" in refusal(approvals, "channel", "--org", ORG)


def test_people_are_added_listed_changed_and_removed() -> None:
    added = answer(users, "add", "Bob@Example.org", "--org", ORG, "--role", "approver", "--discord", "42")
    assert (added["email"], added["role"], added["discord_user_id"]) == ("bob@example.org", "approver", "42")
    changed = answer(users, "set", "bob@example.org", "--org", ORG, "--zone", "Europe/Berlin", "--discord", "")
    assert (changed["zone"], changed["discord_user_id"], changed["role"]) == ("Europe/Berlin", None, "approver")
    assert [one["email"] for one in answer(users, "list", "--org", ORG)] == ["bob@example.org", OWNER]
    assert "zone: " in refusal(users, "set", OWNER, "--org", ORG, "--zone", "Mars")
    assert "address" in refusal(users, "add", "bob@example.org", "--org", ORG)
    answer(users, "remove", "bob@example.org", "--org", ORG)
    assert "nobody of the address" in refusal(users, "remove", "bob@example.org", "--org", ORG)
    assert "owns a mailbox" in refusal(users, "remove", OWNER, "--org", ORG)
