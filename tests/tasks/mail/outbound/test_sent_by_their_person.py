"""A draft of ours that its person sends or throws away while the job is at it: what was sent is told as sent."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from domain.mail.actions.status import ActionStatus
from domain.mail.correspondence import EmailState
from tests.doubles.factories import pass_time
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.outgoing_orders import action_of, approve, approved, order, taken_in, times_sent, waiting
from tests.tasks.mail.outbound.test_outbound_failures import ends, open_effects, ordered, send_job

KINDS = pytest.mark.parametrize("kind", ["reply", "forward"])
ANSWERS: dict[str, dict[str, Any]] = {
    "404": {},
    "404 by fault": {"status": 404, "reason": "notFound"},
    "400": {"status": 400, "reason": "invalidArgument", "message": "Invalid draft"},
    "400, no draft": {"status": 400, "reason": "invalidArgument", "message": "Message not a draft"},
}
"""How Gmail refuses to send a draft that is no more."""


def the_draft(env: MailEnvironment) -> str:
    (draft,) = env.mailbox.state().drafts
    return str(draft["draft_id"])


def sends(env: MailEnvironment) -> None:
    env.mailbox.send_draft(the_draft(env))


def edits_and_sends(env: MailEnvironment) -> None:
    env.mailbox.edit_draft(the_draft(env), text="My own words.")
    sends(env)


def moves_and_sends(env: MailEnvironment) -> None:
    env.mailbox.edit_draft(the_draft(env), subject="Supper instead")
    sends(env)


def discards(env: MailEnvironment) -> None:
    env.mailbox.discard_draft(the_draft(env))


def trashes(env: MailEnvironment) -> None:
    (draft,) = env.mailbox.state().drafts
    env.mailbox.label_message(draft["message_id"], add=("TRASH",))


def spams(env: MailEnvironment) -> None:
    (draft,) = env.mailbox.state().drafts
    env.mailbox.label_message(draft["message_id"], add=("SPAM",))


def with_its_draft_made(env: MailEnvironment, kind: str) -> Any:  # noqa: ANN401 - an action's id
    """A mail whose draft stands in the mailbox, and whose sending was certainly refused; returns its action."""
    action_id = ordered(env, kind)
    env.fail("drafts.send", status=429, reason="rateLimitExceeded", message="Daily user sending limit exceeded")
    assert env.run(send_job(env)) == "queued"
    assert env.count("select count(*) from gates") == 0, "the limit concerns sent mail only"
    pass_time(env.database, timedelta(hours=2))
    return action_id


@KINDS
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("deed", [sends, edits_and_sends, moves_and_sends])
def test_a_mail_that_its_person_sent_is_done_however_gmail_refuses_ours(
    env: MailEnvironment, deed: Callable[[MailEnvironment], None], answer: str, kind: str
) -> None:
    action_id = with_its_draft_made(env, kind)
    deed(env)
    (sent,) = env.mailbox.state().labelled("SENT")
    if ANSWERS[answer]:
        env.fail("drafts.send", **ANSWERS[answer])
    assert ends(env) == ["succeeded"]
    action = action_of(env, action_id)
    assert (action.state, action.sent_message_id) == (ActionStatus.DONE, sent["message_id"])
    assert (len(env.mailbox.state().labelled("SENT")), times_sent(env), open_effects(env)) == (1, 0, 0)


@KINDS
@pytest.mark.parametrize("answer", ANSWERS)
def test_a_draft_that_was_thrown_away_is_told_so_when_a_sent_mail_would_be_seen(
    env: MailEnvironment, answer: str, kind: str
) -> None:
    action_id = with_its_draft_made(env, kind)
    discards(env)
    if ANSWERS[answer]:
        env.fail("drafts.send", times=None, **ANSWERS[answer])
    *waits, end = ends(env)
    assert (set(waits), end) == ({"queued"}, "failed")
    error = action_of(env, action_id).error or {}
    assert (error["code"], times_sent(env), open_effects(env)) == ("outbound.draft_discarded", 0, 0)


def test_a_mail_that_its_person_sent_and_that_is_seen_late_is_done(env: MailEnvironment) -> None:
    """Right after it was sent, neither its thread nor history shows it."""
    action_id = with_its_draft_made(env, "reply")
    place = env.mailbox.state().drafts[0]["thread_id"]
    draft_id, job_id = the_draft(env), send_job(env)
    raw = env.mailbox.state().drafts[0]["raw"].encode()
    env.mailbox.discard_draft(draft_id)
    assert env.run(job_id) == "queued"
    assert env.job(job_id)["attempt"] <= 1, "a wait is no attempt"
    late = env.mailbox.deliver(raw, thread_id=place, label_ids=("SENT",))
    assert ends(env)[-1] == "succeeded"
    assert action_of(env, action_id).sent_message_id == late.message_id


def test_where_nobody_can_tell_a_person_decides(env: MailEnvironment) -> None:
    action_id = with_its_draft_made(env, "reply")
    discards(env)
    env.mailbox.expire_history()
    assert ends(env)[-1] == "dead"
    assert (action_of(env, action_id).error or {})["code"] == "uncertain"
    assert env.count("select count(*) from idempotency_keys where status = 'unknown'") == 1


def test_a_draft_that_is_there_and_not_shown_to_the_call_is_sent_later(env: MailEnvironment) -> None:
    action_id = with_its_draft_made(env, "reply")
    env.fail("drafts.send", status=404, reason="notFound")
    assert ends(env) == ["queued", "succeeded"]
    assert (action_of(env, action_id).state, times_sent(env)) == (ActionStatus.DONE, 1)


@KINDS
@pytest.mark.parametrize("deed", [trashes, spams])
def test_a_draft_that_was_put_in_the_trash_while_it_waited_is_not_sent(
    env: MailEnvironment, deed: Callable[[MailEnvironment], None], kind: str
) -> None:
    action_id = with_its_draft_made(env, kind)
    deed(env)
    assert ends(env) == ["failed"]
    assert (action_of(env, action_id).error or {})["code"] == "outbound.draft_discarded"
    assert (env.mailbox.state().labelled("SENT"), times_sent(env), open_effects(env)) == ([], 0, 0)


@pytest.mark.parametrize("path", ["forgotten labels", "expired", "another thread"])
def test_where_nobody_can_tell_whether_a_draft_was_made_none_is_made_again(env: MailEnvironment, path: str) -> None:
    action_id = ordered(env, "reply")
    env.fail("drafts.create", drop="after")
    if path == "forgotten labels":
        env.mailbox.turn(history_forgets_labels=1)
    assert env.run(send_job(env)) == "queued"
    if path == "another thread":
        env.mailbox.edit_draft(the_draft(env), subject="Supper instead")
    discards(env)
    if path == "expired":
        env.mailbox.expire_history()
    end = ends(env)[-1]
    assert len(env.gmail.journal("drafts.create")) == 1
    assert (env.mailbox.state().labelled("SENT"), times_sent(env)) == ([], 0)
    error = action_of(env, action_id).error or {}
    told = ("failed", "outbound.draft_discarded") if path == "another thread" else ("dead", "uncertain")
    assert (end, error["code"]) == told


LOST_DEEDS: list[tuple[Callable[[MailEnvironment], None], str]] = [
    (discards, "failed"),
    (trashes, "failed"),
    (spams, "failed"),
    (edits_and_sends, "succeeded"),
]


@KINDS
@pytest.mark.parametrize(("deed", "end"), LOST_DEEDS)
def test_a_draft_whose_answer_was_lost_is_not_made_again_whatever_its_person_did(
    env: MailEnvironment, deed: Callable[[MailEnvironment], None], end: str, kind: str
) -> None:
    action_id = ordered(env, kind)
    env.fail("drafts.create", drop="after")
    assert env.run(send_job(env)) == "queued"
    deed(env)
    assert ends(env)[-1] == end
    assert len(env.gmail.journal("drafts.create")) == 1
    assert (times_sent(env), open_effects(env)) == (0, 0)
    error = action_of(env, action_id).error or {}
    assert error.get("code") == ("outbound.draft_discarded" if end == "failed" else None)


def test_a_machine_draft_of_the_thread_is_no_trace_of_ours(env: MailEnvironment) -> None:
    """The call that would have made ours was lost before; the thread gets a draft of its own meanwhile."""
    env.sync()
    place = env.deliver("Lunch?", "Could you tell me whether noon on Friday suits you? Please reply.")
    env.enqueue("gmail.sync")
    for family in ("gmail.%", "triage.%"):
        env.drain(only=family)
    action_id = approved(env, place.message_id)
    order(env, place, action_id)
    env.fail("drafts.create", drop="before")
    assert env.run(send_job(env)) == "queued"
    assert ("drafts.write", "succeeded") in env.drain(only="drafts.%")
    assert ends(env)[-1] == "succeeded"
    assert (action_of(env, action_id).state, times_sent(env)) == (ActionStatus.DONE, 1)
    assert len(env.mailbox.state().drafts) == 1, "the thread's own stays"


def test_a_draft_that_its_person_sends_while_our_answer_waits_for_approval_settles_the_thread(
    env: MailEnvironment,
) -> None:
    """Both mails are told as what they are: the draft as its person's, the answer as the action's."""
    env.sync()
    place = env.deliver("Lunch?", "Could you tell me whether noon on Friday suits you? Please reply.")
    env.sync()
    action_id = waiting(env, place.message_id)
    sent = env.mailbox.send_draft(env.email(place.thread_id).draft_id or "")
    env.sync()
    email = env.email(place.thread_id)
    assert (email.state, email.sent_message_id) == (EmailState.SENT, sent.message_id)
    approve(env, action_id)
    order(env, place, action_id)
    assert ends(env) == ["succeeded"]
    action = action_of(env, action_id)
    assert (action.state, times_sent(env)) == (ActionStatus.DONE, 1)
    assert action.sent_message_id not in {None, sent.message_id}
    env.sync()
    assert env.email(place.thread_id).sent_message_id == sent.message_id


def test_an_order_after_a_mail_was_sent_by_its_person_sends_nothing(env: MailEnvironment) -> None:
    place = taken_in(env)
    action_id = approved(env, place.message_id)
    order(env, place, action_id)
    env.fail("drafts.send", status=429, reason="rateLimitExceeded", message="Daily user sending limit exceeded")
    assert env.run(send_job(env)) == "queued"
    pass_time(env.database, timedelta(hours=2))
    sends(env)
    assert ends(env) == ["succeeded"]
    env.database.execute("delete from idempotency_keys where kind = 'job'")
    env.database.execute("update jobs set idempotency_key = 'other'")
    order(env, place, action_id)
    assert ends(env) == ["succeeded"]
    assert (len(env.mailbox.state().labelled("SENT")), times_sent(env)) == (1, 0)
