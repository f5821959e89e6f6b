"""outbound.send when something goes wrong: exactly one mail whatever was lost, and an action that is done or failed."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection

from domain.mail.actions.requested_action import AutoReply
from domain.mail.actions.status import ActionStatus
from providers.google.gmail import GmailMailbox
from sandbox.emulator.control import MessagePlace
from settings import Settings
from tests.doubles.factories import pass_time
from tests.doubles.mail_environment import MailEnvironment, running_environment
from tests.doubles.meanwhile import once_after
from tests.doubles.outgoing_orders import (
    FORWARD,
    action_of,
    approved,
    letter_with_files,
    order,
    taken_in,
    the_sent,
    times_sent,
)

LOST: dict[str, dict[str, Any]] = {
    "dropped after": {"drop": "after"},
    "dropped before": {"drop": "before"},
    "503 after": {"status": 503, "after_execution": True},
    "504 after": {"status": 504, "after_execution": True},
    "503 before": {"status": 503},
}


def ordered(env: MailEnvironment, kind: str = "reply", **changed: Any) -> UUID:  # noqa: ANN401 - fields of the payload
    """A mail that waits to be sent; returns its action."""
    if kind == "reply":
        place = taken_in(env)
        action_id = approved(env, place.message_id)
    else:
        place = taken_in(env, raw=letter_with_files())
        action_id = approved(env, place.message_id, FORWARD)
    order(env, place, action_id, **changed)
    return action_id


def send_job(env: MailEnvironment) -> UUID:
    row = env.database.execute("select id from jobs where job_type = 'outbound.send'").fetchone()
    assert row is not None
    return UUID(str(row[0]))


def ends(env: MailEnvironment) -> list[str]:
    return [end for _, end in env.drain(only="outbound.%")]


def open_effects(env: MailEnvironment) -> int:
    return env.count("select count(*) from idempotency_keys where kind = 'effect' and status in ('running', 'unknown')")


@pytest.mark.parametrize("kind", ["reply", "forward"])
@pytest.mark.parametrize("operation", ["drafts.create", "drafts.send"])
@pytest.mark.parametrize("fault", LOST)
def test_whatever_answer_is_lost_one_mail_leaves(env: MailEnvironment, fault: str, operation: str, kind: str) -> None:
    action_id = ordered(env, kind)
    env.fail(operation, **LOST[fault])
    assert ends(env)[-1] == "succeeded"
    assert times_sent(env) == 1
    assert env.mailbox.state().drafts == []
    assert open_effects(env) == 0
    facts, _ = the_sent(env)
    action = action_of(env, action_id)
    assert (action.state, action.sent_message_id) == (ActionStatus.DONE, facts["message_id"])


@pytest.mark.parametrize("operation", ["drafts.create", "drafts.send"])
def test_an_answer_that_never_comes_leads_to_one_mail(settings: Settings, database: Connection, operation: str) -> None:
    with running_environment(settings.model_copy(update={"google_request_timeout_s": 0.4}), database) as env:
        ordered(env)
        env.fail(operation, hang_s=0.6)
        assert ends(env)[-1] == "succeeded"
        assert times_sent(env) == 1


@pytest.mark.parametrize("kind", ["reply", "forward"])
def test_history_that_expired_meanwhile_makes_no_second_draft(env: MailEnvironment, kind: str) -> None:
    """A forward's draft is then looked for among all drafts."""
    ordered(env, kind)
    env.fail("drafts.create", drop="after")
    assert env.run(send_job(env)) == "queued"
    env.mailbox.expire_history()
    assert ends(env) == ["succeeded"]
    assert (times_sent(env), len(env.gmail.journal("drafts.create"))) == (1, 1)


def test_a_sent_mail_that_nobody_can_tell_from_a_discarded_one_waits_for_a_person(env: MailEnvironment) -> None:
    action_id = ordered(env)
    env.fail("drafts.send", drop="after")
    assert env.run(send_job(env)) == "queued"
    env.mailbox.expire_history()
    env.mailbox.delete_message(the_sent(env)[0]["message_id"])
    assert ends(env)[-1] == "dead"
    action = action_of(env, action_id)
    assert action.state is ActionStatus.FAILED
    assert (action.error or {})["code"] == "uncertain"
    assert times_sent(env) == 1


def test_a_draft_that_its_person_sent_meanwhile_is_not_sent_again(env: MailEnvironment) -> None:
    action_id = ordered(env, "forward")
    env.fail("drafts.create", drop="after")
    assert env.run(send_job(env)) == "queued"
    sent = env.mailbox.send_draft(env.mailbox.state().drafts[0]["draft_id"])
    assert ends(env) == ["succeeded"]
    assert env.gmail.journal("drafts.send") == []
    assert action_of(env, action_id).sent_message_id == sent.message_id


@pytest.mark.parametrize("kind", ["reply", "forward"])
def test_a_draft_that_its_person_discarded_is_not_sent(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    action_id = ordered(env, kind)

    def discard() -> None:
        (draft,) = env.mailbox.state().drafts
        env.mailbox.discard_draft(draft["draft_id"])

    once_after(monkeypatch, GmailMailbox, "create_draft", discard)
    assert ends(env) == ["queued", "failed"], "a sent mail may take some seconds to appear"
    assert times_sent(env) == 0
    action = action_of(env, action_id)
    assert (action.state, (action.error or {})["code"]) == (ActionStatus.FAILED, "outbound.draft_discarded")


@pytest.mark.parametrize(
    ("status", "message"), [(400, "Invalid To header"), (400, "Too many recipients"), (413, "Request Entity Too Large")]
)
def test_a_mail_that_gmail_refuses_to_send_leaves_no_draft(env: MailEnvironment, status: int, message: str) -> None:
    action_id = ordered(env)
    env.fail("drafts.send", status=status, reason="invalidArgument", message=message)
    assert ends(env) == ["failed"]
    assert env.mailbox.state().drafts == []
    assert action_of(env, action_id).state is ActionStatus.FAILED


def test_a_draft_that_gmail_finds_too_large_fails_the_action(env: MailEnvironment) -> None:
    env.mailbox.turn(largest_message=2_000)
    place = taken_in(env)
    action_id = approved(env, place.message_id, AutoReply(text="x" * 3_000))
    order(env, place, action_id)
    assert ends(env) == ["failed"]
    assert env.mailbox.state().drafts == []
    assert action_of(env, action_id).state is ActionStatus.FAILED


def test_a_forward_of_a_message_that_is_gone_fails(env: MailEnvironment) -> None:
    place = taken_in(env, raw=letter_with_files())
    action_id = approved(env, place.message_id, FORWARD)
    order(env, place, action_id)
    env.mailbox.delete_message(place.message_id)
    assert ends(env) == ["failed"]
    assert (times_sent(env), action_of(env, action_id).state) == (0, ActionStatus.FAILED)


def test_a_reply_into_a_thread_that_is_gone_fails(env: MailEnvironment) -> None:
    place = taken_in(env)
    action_id = approved(env, place.message_id)
    order(env, place, action_id)
    env.mailbox.delete_thread(place.thread_id)
    assert ends(env) == ["failed"]
    assert (times_sent(env), action_of(env, action_id).state) == (0, ActionStatus.FAILED)


def test_the_day_s_limit_stops_the_sending_and_not_the_reading(env: MailEnvironment) -> None:
    env.mailbox.turn(sends_per_day=0)
    action_id = ordered(env)
    second = taken_in_beside(env)
    other = approved(env, second.message_id)
    order(env, second, other)
    jobs = [row[0] for row in env.database.execute("select id from jobs where job_type = 'outbound.send' order by id")]
    assert [env.run(one) for one in jobs] == ["queued", "queued"]
    assert len(env.gmail.journal("drafts.send")) == 1, "the second mail does not find the limit out by itself"
    assert env.count("select count(*) from gates") == 0
    env.deliver("News", "For your information only.")
    env.enqueue("gmail.sync")
    assert ("gmail.ingest", "succeeded") in env.drain(only="gmail.%")
    row = env.database.execute(
        "select min(run_at - now()), max(attempt) from jobs where id = any (%s)", (jobs,)
    ).fetchone()
    assert row is not None
    assert row[0] > timedelta(hours=23), "as long as Gmail says"
    env.mailbox.turn(sends_per_day=10)
    pass_time(env.database, timedelta(days=1, minutes=1))
    assert ends(env) == ["succeeded", "succeeded"]
    assert times_sent(env) == 2
    assert {action_of(env, one).state for one in (action_id, other)} == {ActionStatus.DONE}


def taken_in_beside(env: MailEnvironment) -> MessagePlace:
    """Another letter, while orders wait."""
    place = env.deliver("Dinner?", "Does eight suit you?", headers={"From": "Bob <bob@example.com>"})
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.database.execute("delete from jobs where state = 'queued' and job_type like 'triage.%'")
    return place


def test_the_sent_mail_may_be_visible_late(env: MailEnvironment) -> None:
    env.mailbox.turn(sent_lag_gets=2)
    action_id = ordered(env)
    assert ends(env) == ["queued", "queued", "succeeded"]
    assert action_of(env, action_id).state is ActionStatus.DONE


def test_a_mail_that_cannot_be_read_back_has_left_all_the_same(env: MailEnvironment) -> None:
    action_id = ordered(env)
    env.fail("messages.get", times=None, status=503)
    assert env.run(send_job(env)) == "queued"
    assert action_of(env, action_id).state is ActionStatus.DONE, "the moment it is known that the mail has left"
    pass_time(env.database, timedelta(minutes=3))
    assert ends(env) == ["succeeded"]
    output = env.database.execute("select output from jobs where job_type = 'outbound.send'").fetchone()
    assert output is not None
    assert "rfc_message_id" not in output[0]


def test_a_send_that_is_refused_again_and_again_fails_the_action(env: MailEnvironment) -> None:
    action_id = ordered(env)
    env.fail("drafts.create", times=None, status=503)
    assert set(ends(env)) == {"queued", "dead"}
    assert action_of(env, action_id).state is ActionStatus.FAILED
    assert times_sent(env) == 0


def test_gmail_s_rate_limit_parks_the_mailbox_as_ever(env: MailEnvironment) -> None:
    ordered(env)
    env.fail("drafts.create", status=429, reason="rateLimitExceeded")
    assert env.run(send_job(env)) == "queued"
    assert env.count("select count(*) from gates where scope = 'account'") == 1


def test_the_listing_of_a_forward_is_bounded(env: MailEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GmailMailbox, "attachments", lambda _self, _message: ("x",) * 51)
    action_id = ordered(env, "forward")
    assert ends(env) == ["dead"]
    assert "51 files; at most 50" in (action_of(env, action_id).error or {})["reason"]
