"""Nodes of workflows that ask: on Discord, in the app and by e-mail with a link that decides, and how it ended."""

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from domain.approvals.decision import Choice
from domain.notifications.sender import EmailProvider
from domain.orgs.access.users import UserRole
from domain.payloads.approvals import NotifyPayload, ShowOutcomePayload
from domain.payloads.payload import Payload
from engine.enqueue import enqueue
from sandbox.emulator.client import EmulatorControl
from storage.approvals.approvals import asking
from storage.orgs.access import users
from storage.orgs.access.users import UserChanges
from tests.doubles.approvals import buttons, decide, messages
from tests.doubles.email_orders import set_sender
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.told_people import PUBLIC_URL, ToldPeople
from tests.doubles.workflows.asking_nodes import ask_person, asking_node, begin_run, node_state
from tests.gateway.serving import ask, serve
from tests.tasks.approvals.test_approvals import ASKED, bot, env

__all__ = ["bot", "env"]

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def asked(env: MailEnvironment, **given: object) -> UUID:
    """A node that waits, with the job that asks about it."""
    made = asking_node(env.process.database, env.account.org_id, **given)
    (now, _), _reminder = asking(made, NOON, NOON + timedelta(days=3))
    enqueued(env, now)
    return made


def enqueued(env: MailEnvironment, payload: Payload) -> None:
    with env.process.database.ledger() as tx:
        enqueue(tx, payload, org_id=env.account.org_id)


def test_people_are_asked_about_a_node_as_about_an_action(env: MailEnvironment, bot: EmulatorControl) -> None:
    made = asked(env, show={"subject": "@everyone `now`", "words": 12})
    env.drain(only=ASKED)
    ((message),) = messages(bot)
    assert set(buttons(message)) == {"Approve", "Deny"}
    assert all(str(made) in one for one in buttons(message).values())
    for words in ("**Send the brief?**", "subject: `@everyone ˋnowˋ`", "words: `12`", "`morning-brief`", "Until <t:"):  # noqa: RUF001 - as it is written
        assert words in message["content"]
    env.drain(only="notifications.%")
    titles = env.database.execute("select distinct title from inbox_items").fetchall()
    assert titles == [("Send the brief?",)]
    decide(env, made, Choice.APPROVE, "of course")
    env.drain(only="approvals.show_outcome")
    ((message),) = messages(bot)
    assert message["components"] == []
    assert "Approved by operator:anna: of course" in message["content"]


@pytest.mark.parametrize("is_decided", [True, False])
def test_a_reminder_asks_only_about_what_still_waits(
    env: MailEnvironment, bot: EmulatorControl, *, is_decided: bool
) -> None:
    made = asked(env)
    env.drain(only=ASKED)
    if is_decided:
        decide(env, made, Choice.DENY)
    _, (reminder, at) = asking(made, NOON, NOON + timedelta(days=3))
    assert at == NOON + timedelta(days=2)
    enqueued(env, reminder)
    env.drain(only="approvals.%")
    assert [one["content"].startswith("**Reminder") for one in messages(bot)] == [
        False,
        *([] if is_decided else [True]),
    ]


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ('state = \'failed\', error = \'{"code": "timeout", "reason": "x"}\', finished_at = now()', "Expired"),
        ("state = 'canceled', finished_at = now()", "Canceled"),
    ],
)
def test_a_wait_that_ends_without_a_decision_shows_so(
    env: MailEnvironment, bot: EmulatorControl, end: str, words: str
) -> None:
    made = asked(env)
    env.drain(only=ASKED)
    env.database.execute(f"update workflow_nodes set {end} where approval_id = %s", (made,))
    enqueued(env, ShowOutcomePayload(approval_id=made))
    env.drain(only="approvals.show_outcome")
    ((message),) = messages(bot)
    assert (message["components"], words in message["content"]) == ([], True)


def test_each_round_of_a_node_asks_anew(env: MailEnvironment, bot: EmulatorControl) -> None:
    run_id = begin_run(env.process.database, env.account.org_id)
    for _ in range(2):
        made = ask_person(env.process.database, run_id)
        enqueued(env, NotifyPayload(approval_id=made))
        env.drain(only=ASKED)
    assert len(messages(bot)) == 2


def test_the_messages_that_asked_go_with_the_run(env: MailEnvironment) -> None:
    asked(env)
    env.drain(only=ASKED)
    assert env.count("select count(*) from approval_notices") == 1
    env.database.execute("delete from workflow_nodes")
    env.database.execute("delete from workflow_runs")
    assert env.count("select count(*) from approval_notices") == 0


def test_an_e_mail_has_the_link_that_decides_and_nothing_else_has(told: ToldPeople) -> None:
    store = told.process.database
    set_sender(told.process, told.org_id, EmailProvider.RESEND)
    with store.ledger() as tx:
        users.change(tx, told.org_id, "ada@example.org", UserChanges(UserRole.APPROVER))
    made = asking_node(store, told.org_id)
    with store.ledger() as tx:
        enqueue(tx, NotifyPayload(approval_id=made), org_id=told.org_id)
    told.run_due("approvals.%")
    told.run_due()
    (email,) = told.resend.emails()
    (path,) = re.findall(rf"{PUBLIC_URL}(/d/\S+)", email["mail"]["text"])
    assert told.inbox() == ["Send the brief?"]
    kept = told.database.execute("select body from inbox_items union all select data::text from notifications")
    assert not any("sig=" in text for (text,) in kept), "whoever may read an inbox over the API must not decide"
    with serve(told.process.settings) as url:
        pressed = ask(f"{url}{path}", b"choice=approve", {"Content-Type": "application/x-www-form-urlencoded"})
    assert (pressed.status, node_state(store, made)) == (200, ("succeeded", None))
