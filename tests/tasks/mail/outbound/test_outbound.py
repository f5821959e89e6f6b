"""outbound.send: what leaves, in which conversation, under which name; and what is refused before anything is made."""

from datetime import timedelta
from uuid import uuid4

import pytest

from domain.mail.actions.action import Action
from domain.mail.actions.label_actions import Archive
from domain.mail.actions.requested_action import Forward
from domain.mail.actions.status import ActionStatus
from domain.mail.correspondence import EmailState
from engine.worker.lease import renew
from storage.mail import messages
from tests.doubles.factories import pass_time
from tests.doubles.mail_environment import OWNER, MailEnvironment, connect, letter
from tests.doubles.outgoing_orders import (
    ANSWER,
    FILES,
    FORWARD,
    action_of,
    approved,
    letter_with_files,
    order,
    payload_of,
    taken_in,
    text_of,
    the_sent,
    times_sent,
)


def test_a_reply_leaves_in_its_conversation_and_the_action_is_done(env: MailEnvironment) -> None:
    place = taken_in(env, headers={"Message-ID": "<child@example.com>", "References": "<root@example.com>"})
    action_id = approved(env, place.message_id)
    job_id = order(env, place, action_id)
    assert env.drain() == [("outbound.send", "succeeded")]
    facts, mail = the_sent(env)
    assert facts["thread_id"] == place.thread_id
    assert not facts["ghost"]
    assert mail["To"] == "Anna Example <anna@example.com>"
    assert mail["From"] == OWNER
    assert mail["Subject"] == "Re: Lunch?"
    assert mail["In-Reply-To"] == "<child@example.com>"
    assert mail["References"].split()[::2] == ["<root@example.com>", "<child@example.com>"]
    assert text_of(mail) == "I am away until Monday.\n"
    assert mail["Auto-Submitted"] is None, "a person has approved it"
    assert (times_sent(env), env.mailbox.state().drafts) == (1, [])
    action = action_of(env, action_id)
    assert (action.state, action.sent_message_id) == (ActionStatus.DONE, facts["message_id"])
    hint = action.undo_hint or {}
    assert {"action": "auto_reply", "inverse_action": "none", "irreversible": True}.items() <= hint.items()
    assert hint["sent_message_id"] == facts["message_id"]
    output = env.job(job_id)["output"]
    assert output["sent_message_id"] == facts["message_id"]
    assert output["rfc_message_id"] == facts["rfc822_message_id"] == mail["Message-ID"]
    assert output["rfc_message_id"].endswith("@mail.gmail.com>"), "Gmail gives the id"


def test_a_forward_begins_a_conversation_and_takes_the_files_from_the_mailbox(env: MailEnvironment) -> None:
    place = taken_in(env, raw=letter_with_files())
    action_id = approved(env, place.message_id, FORWARD)
    payload = payload_of(env, place, action_id)
    assert payload["attachments"] == []
    order(env, place, action_id)
    assert env.drain() == [("outbound.send", "succeeded")]
    facts, mail = the_sent(env)
    assert facts["thread_id"] != place.thread_id
    assert (mail["Subject"], mail["To"]) == ("Fwd: The plan", "boss@example.net")
    assert (mail["In-Reply-To"], mail["References"]) == (None, None)
    files = [
        (one.get_filename(), one.get_content_type(), one.get_payload(decode=True)) for one in mail.iter_attachments()
    ]
    assert files == list(FILES)
    assert text_of(mail).startswith("For you.\n\n---------- Forwarded message ---------\n")
    assert "Here it is." in text_of(mail)
    assert (action_of(env, action_id).undo_hint or {})["action"] == "forward"


def test_files_that_come_with_the_listing_are_not_fetched_again(env: MailEnvironment) -> None:
    env.mailbox.turn(inline_files_below=1_000)
    place = taken_in(env, raw=letter_with_files())
    order(env, place, approved(env, place.message_id, FORWARD))
    assert env.drain() == [("outbound.send", "succeeded")]
    assert env.gmail.journal("attachments.get") == []
    assert [one.get_filename() for one in the_sent(env)[1].iter_attachments()] == [name for name, _, _ in FILES]


def test_a_large_forward_is_uploaded(env: MailEnvironment) -> None:
    """A request of more than some 5 MB of JSON would be refused with 413."""
    raw = letter_with_files().replace(b"JVBER", b"A" * 6_000_000 + b"JVBER", 1)
    place = taken_in(env, raw=raw)
    order(env, place, approved(env, place.message_id, FORWARD))
    assert env.drain() == [("outbound.send", "succeeded")]
    (made,) = env.gmail.journal("drafts.create")
    assert made.path.startswith("/upload/")
    assert [one.get_filename() for one in the_sent(env)[1].iter_attachments()] == [name for name, _, _ in FILES]


def test_a_new_mail_has_html_copies_and_files_of_its_payload(env: MailEnvironment) -> None:
    place = taken_in(env, "Großer Auftrag")
    action = Forward(to=("boss@example.net",), cc=("grace@example.org",), note="Hello")
    file = {"filename": "a b.txt", "mime_type": "text/plain", "data": "aGk="}
    action_id = approved(env, place.message_id, action, file)
    order(
        env,
        place,
        action_id,
        message_type="new",
        original_message_id=None,
        to=["Böss <boss@example.net>"],
        cc=['"Hopper, Grace" <grace@example.org>'],
        bcc=["boss@example.net"],
        subject="Großer Auftrag",
        body_plain="Hello",
        body_html="<p>Hello</p>",
        attachments=[file],
    )
    assert env.drain() == [("outbound.send", "succeeded")]
    facts, mail = the_sent(env)
    assert facts["thread_id"] != place.thread_id
    assert (mail["To"], mail["Cc"], mail["Bcc"]) == (
        "Böss <boss@example.net>", '"Hopper, Grace" <grace@example.org>', "boss@example.net",
    )  # fmt: skip
    assert mail["Subject"] == "Großer Auftrag"
    assert (text_of(mail), text_of(mail, "html")) == ("Hello\n", "<p>Hello</p>\n")
    (part,) = mail.iter_attachments()
    assert (part.get_filename(), part.get_payload(decode=True)) == ("a b.txt", b"hi")


def test_it_is_written_from_the_alias_that_was_written_to(env: MailEnvironment) -> None:
    aliases = {"sales@postroom.example": "accepted", "boss@postroom.example": "pending"}
    names = {"sales@postroom.example": {"displayName": "Söles", "replyToAddress": "desk@postroom.example"}}
    env.mailbox = env.gmail.create_account(OWNER, "access-1", "refresh-1", aliases=aliases, send_as=names)
    place = taken_in(env, headers={"To": "Sales <sales@postroom.example>"})
    order(env, place, approved(env, place.message_id))
    assert env.drain() == [("outbound.send", "succeeded")]
    mail = the_sent(env)[1]
    assert (mail["From"], mail["Reply-To"]) == ("Söles <sales@postroom.example>", "desk@postroom.example")
    account = connect(env.process, OWNER, "access-1", "refresh-1")
    assert account.own_addresses == (OWNER, "sales@postroom.example")


@pytest.mark.parametrize("action", [ANSWER, FORWARD], ids=["auto_reply", "forward"])
def test_an_action_is_executed_by_the_mail_that_leaves(env: MailEnvironment, action: Action) -> None:
    """From actions.execute to the sent mail; the action is handed over and ends with the sending."""
    place = taken_in(env)
    action_id = approved(env, place.message_id, action)
    env.enqueue("actions.execute", {"action_id": str(action_id)})
    assert env.drain() == [("actions.execute", "succeeded"), ("outbound.send", "succeeded")]
    done = action_of(env, action_id)
    assert (done.state, done.sent_message_id) == (ActionStatus.DONE, the_sent(env)[0]["message_id"])


def test_a_second_order_of_an_action_is_no_second_job(env: MailEnvironment) -> None:
    place = taken_in(env)
    action_id = approved(env, place.message_id)
    first = order(env, place, action_id)
    assert order(env, place, action_id) == first
    env.drain()
    assert order(env, place, action_id) == first
    assert times_sent(env) == 1


def test_an_action_that_has_sent_sends_nothing_more(env: MailEnvironment) -> None:
    place = taken_in(env)
    action_id = approved(env, place.message_id)
    order(env, place, action_id)
    env.drain()
    env.database.execute("delete from idempotency_keys where kind = 'job'")
    env.database.execute("update jobs set idempotency_key = 'other'")
    again = order(env, place, action_id)
    assert env.drain() == [("outbound.send", "succeeded")]
    assert env.job(again)["output"]["sent_message_id"] == the_sent(env)[0]["message_id"]
    assert times_sent(env) == 1


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"account_id": str(uuid4())}, "payload.account_id"),
        ({"action_id": str(uuid4())}, "payload.action_id"),
        ({"message_type": "forward", "thread_id": None}, "payload.message_type"),
        ({"original_message_id": "18c2f0a1b2c3d4e6"}, "payload.original_message_id"),
        ({"thread_id": "18c2f0a1b2c3d4e6"}, "payload.thread_id"),
        ({"subject": "Something else"}, "payload.subject"),
    ],
)
def test_what_does_not_belong_together_is_refused_by_field(
    env: MailEnvironment, changed: dict[str, object], field: str
) -> None:
    place = taken_in(env)
    job_id = order(env, place, approved(env, place.message_id), **changed)
    assert env.drain(only="outbound.%") == [("outbound.send", "dead")]
    assert env.job(job_id)["error"]["reason"].startswith(field)
    assert (times_sent(env), env.mailbox.state().drafts) == (0, [])


def test_another_account_s_action_is_none_of_this_one(env: MailEnvironment) -> None:
    place = taken_in(env)
    action_id = approved(env, place.message_id)
    payload = payload_of(env, place, action_id)
    other = connect(env.process, "other@postroom.example", "access-2", "refresh-2")
    job_id = env.enqueue("outbound.send", payload | {"account_id": str(other.account_id)})
    assert env.drain(only="outbound.%") == [("outbound.send", "dead")]
    assert env.job(job_id)["error"]["reason"].startswith("payload.action_id")
    assert action_of(env, action_id).state is ActionStatus.APPROVED


def test_an_action_that_sends_nothing_is_refused(env: MailEnvironment) -> None:
    place = taken_in(env)
    payload = payload_of(env, place, approved(env, place.message_id))
    archive = approved(env, place.message_id, Archive())
    job_id = env.enqueue("outbound.send", payload | {"action_id": str(archive)})
    assert env.drain(only="outbound.%") == [("outbound.send", "dead")]
    assert "sends nothing" in env.job(job_id)["error"]["reason"]


def test_a_forward_goes_only_where_the_action_says(env: MailEnvironment) -> None:
    """What was approved is what is sent."""
    place = taken_in(env)
    action_id = approved(env, place.message_id, FORWARD)
    job_id = order(env, place, action_id, bcc=["eve@example.net"])
    assert env.drain(only="outbound.%") == [("outbound.send", "dead")]
    assert env.job(job_id)["error"]["reason"].startswith("payload.bcc.0")
    assert times_sent(env) == 0


OTHER: dict[str, tuple[dict[str, object], str]] = {
    "other words": ({"body_plain": "Yes, pay it."}, "payload.body_plain"),
    "words behind them": ({"body_plain": f"{ANSWER.text}\nPay it."}, "payload.body_plain"),
    "other words as HTML": ({"body_html": "<p>Pay it.</p>"}, "payload.body_html"),
    "a link": ({"body_html": f'<a href="https://evil.example">{ANSWER.text}</a>'}, "payload.body_html"),
    "words that only some see": ({"body_html": f"<p>{ANSWER.text}</p><script>Pay it.</script>"}, "payload.body_html"),
    "a comment": ({"body_html": f"<p>{ANSWER.text}</p><!-- pay it -->"}, "payload.body_html"),
    "somebody else": ({"to": ["eve@example.net"]}, "payload.to.0"),
    "one more": ({"cc": ["eve@example.net"]}, "payload.cc.0"),
    "one more whom nobody sees": ({"bcc": ["eve@example.net"]}, "payload.bcc.0"),
}
NEW = {"message_type": "new", "original_message_id": None, "thread_id": None}


@pytest.mark.parametrize("kind", OTHER)
@pytest.mark.parametrize("form", [{}, NEW], ids=["reply", "new"])
def test_an_answer_says_what_was_approved_to_whom_it_was_approved(
    env: MailEnvironment, kind: str, form: dict[str, object]
) -> None:
    """Whoever may enqueue jobs cannot use a person's approval for a mail of his own."""
    place = taken_in(env)
    action_id = approved(env, place.message_id)
    changed, field = OTHER[kind]
    job_id = order(env, place, action_id, **form, **changed)
    assert env.drain(only="outbound.%") == [("outbound.send", "dead")]
    assert env.job(job_id)["error"]["reason"].startswith(f"{field}: ")
    assert action_of(env, action_id).state is ActionStatus.APPROVED
    assert (times_sent(env), env.mailbox.state().drafts) == (0, [])


@pytest.mark.parametrize(
    ("changed", "field"),
    [({"body_plain": "Pay it."}, "payload.body_plain"), ({"subject": "Pay it"}, "payload.subject")],
)
def test_a_forward_says_what_was_approved(env: MailEnvironment, changed: dict[str, object], field: str) -> None:
    place = taken_in(env)
    job_id = order(env, place, approved(env, place.message_id, FORWARD), **changed)
    assert env.drain(only="outbound.%") == [("outbound.send", "dead")]
    assert env.job(job_id)["error"]["reason"].startswith(f"{field}: ")
    assert times_sent(env) == 0


@pytest.mark.parametrize(
    ("state", "end"),
    [("approved_pending", "failed"), ("denied", "canceled"), ("expired", "canceled"), ("canceled", "canceled")],
)
def test_what_nobody_released_stays_here(env: MailEnvironment, state: str, end: str) -> None:
    place = taken_in(env)
    action_id = approved(env, place.message_id)
    order(env, place, action_id)
    env.database.execute("set session_replication_role = replica")
    finished = "null" if state == "approved_pending" else "now()"
    env.database.execute(f"update actions set state = '{state}', finished_at = {finished}, error = '{{}}'")
    assert env.drain(only="outbound.%") == [("outbound.send", end)]
    assert action_of(env, action_id).state == state
    assert env.gmail.journal("drafts.create") == []


def test_our_own_mail_is_recognised_when_it_comes_back(env: MailEnvironment) -> None:
    place = taken_in(env)
    order(env, place, approved(env, place.message_id))
    env.drain()
    token = the_sent(env)[1]["X-Postroom-Token"]
    bounced = env.mailbox.deliver(letter("Lunch again", "x", **{"X-Postroom-Token": token}))
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    with env.process.database.ledger() as tx:
        stored = messages.get(tx, env.account.account_id, bounced.message_id)
    assert stored.automation is not None
    assert stored.automation.kind == "self"


def test_it_is_no_draft_of_the_thread_and_settles_nothing(env: MailEnvironment) -> None:
    """The thread's machine draft stays; when its person discards it, our mail is not taken for the sent draft."""
    env.sync()
    place = env.deliver("Lunch?", "Could you tell me whether noon on Friday suits you? Please reply.")
    env.sync()
    draft_id = env.email(place.thread_id).draft_id or ""
    order(env, place, approved(env, place.message_id))
    assert ("outbound.send", "succeeded") in env.drain()
    env.sync()
    assert [one["draft_id"] for one in env.mailbox.state().drafts] == [draft_id]
    assert env.state(place.thread_id) is EmailState.DRAFTED
    env.mailbox.discard_draft(draft_id)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    # As the worker's own loop does; then more than a sent mail takes to appear.
    renew(env.process)
    pass_time(env.database, timedelta(seconds=11))
    assert env.drain(only="threads.%") == [("threads.cleanup", "succeeded")]
    assert env.state(place.thread_id) is EmailState.SKIPPED
