"""Mail that nobody has approved: it says so, it is rare, and it goes to nobody outside the conversation."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from threading import Thread

import pytest

from domain.mail.actions.status import ActionStatus
from storage.mail import outgoing_mails
from storage.mail.accounts import accounts
from tests.doubles.factories import pass_time
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.outgoing_orders import (
    FORWARD,
    action_of,
    approved,
    automatic,
    order,
    taken_in,
    the_sent,
    times_sent,
)
from tests.waiting import until_a_lock_is_waited_for


def run_one(env: MailEnvironment) -> str:
    ((_, end),) = env.drain(only="outbound.%")
    return end


def test_it_says_that_no_person_sent_it(env: MailEnvironment) -> None:
    place = taken_in(env)
    action_id = automatic(env, place.message_id)
    order(env, place, action_id)
    assert run_one(env) == "succeeded"
    _, mail = the_sent(env)
    assert (mail["Auto-Submitted"], mail["X-Auto-Response-Suppress"]) == ("auto-replied", "All")
    assert action_of(env, action_id).state is ActionStatus.DONE


def test_a_forward_by_rule_is_generated_and_no_answer(env: MailEnvironment) -> None:
    for _ in range(2):
        place = taken_in(env)
        order(env, place, automatic(env, place.message_id, FORWARD))
        assert run_one(env) == "succeeded"
    assert times_sent(env) == 2, "only answers are counted"


def test_one_answer_in_seven_days(env: MailEnvironment) -> None:
    for after, end, mails in (
        (timedelta(0), "succeeded", 1),
        (timedelta(days=6), "failed", 1),
        (timedelta(days=1, minutes=1), "succeeded", 2),
    ):
        pass_time(env.database, after)
        place = taken_in(env, headers={"Message-ID": f"<{mails}{end}@example.com>"})
        action_id = automatic(env, place.message_id)
        order(env, place, action_id)
        assert run_one(env) == end
        assert times_sent(env) == mails
        if end == "failed":
            assert (action_of(env, action_id).error or {})["code"] == "outbound.answered_lately"
            assert len(env.gmail.journal("drafts.create")) == mails, "it is refused before a draft is made"


def test_an_answer_that_a_person_approved_is_not_counted(env: MailEnvironment) -> None:
    place = taken_in(env)
    order(env, place, automatic(env, place.message_id))
    assert run_one(env) == "succeeded"
    order(env, place, approved(env, place.message_id))
    assert run_one(env) == "succeeded"
    assert times_sent(env) == 2


def test_an_answer_that_never_left_does_not_count(env: MailEnvironment) -> None:
    place = taken_in(env)
    env.fail("drafts.create", status=400, reason="invalidArgument")
    order(env, place, automatic(env, place.message_id))
    assert run_one(env) == "failed"
    order(env, place, automatic(env, place.message_id))
    assert run_one(env) == "succeeded"


def test_of_two_answers_at_once_one_is_set_aside(env: MailEnvironment) -> None:
    """The second waits for the first's transaction, and then sees what it wrote."""
    place = taken_in(env)
    first, second = automatic(env, place.message_id), automatic(env, place.message_id)
    account_id, org = env.account.account_id, env.account.org_id
    found: list[frozenset[str]] = []

    def reserve_second() -> None:
        with env.process.database.tenant(org) as tx:
            found.append(
                outgoing_mails.reserve_answers(tx, account_id, second, ["anna@example.com"], every=timedelta(days=7))
            )

    with env.process.database.tenant(org) as tx:
        assert (
            outgoing_mails.reserve_answers(tx, account_id, first, ["anna@example.com"], every=timedelta(days=7))
            == frozenset()
        )
        with running(reserve_second) as thread:
            assert thread.is_alive()
    thread.join(5)
    assert found == [frozenset({"anna@example.com"})]


def test_answers_lock_the_account_before_their_recipients(env: MailEnvironment) -> None:
    """Another job saves the addresses, and answers the same person then: in the other order both would wait."""
    first = taken_in(env)
    order(env, first, automatic(env, first.message_id))
    assert run_one(env) == "succeeded"
    env.database.execute("delete from automatic_answers")
    place, account_id = taken_in(env, headers={"Message-ID": "<second@example.com>"}), env.account.account_id
    other, action_id = automatic(env, first.message_id), automatic(env, place.message_id)
    order(env, place, action_id)
    with ThreadPoolExecutor(1) as threads:
        with env.process.database.tenant(env.account.org_id) as tx:
            accounts.save_own_addresses(tx, account_id, ["me@example.net"])
            ended = threads.submit(run_one, env)
            until_a_lock_is_waited_for(env.database, describe="the job does not wait")
            outgoing_mails.reserve_answers(tx, account_id, other, ["anna@example.com"], every=timedelta(days=7))
        assert ended.result(timeout=30) == "failed"
    assert (action_of(env, action_id).error or {})["code"] == "outbound.answered_lately"


@contextmanager
def running(work: object) -> Iterator[Thread]:
    thread = Thread(target=work)  # type: ignore[arg-type]  # a function without arguments
    thread.start()
    yield thread


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"Auto-Submitted": "auto-replied"}, "automated"),
        ({"Precedence": "bulk", "List-Unsubscribe": "<mailto:x@example.org>"}, "automated"),
    ],
)
def test_machines_are_not_answered(env: MailEnvironment, headers: dict[str, str], reason: str) -> None:
    place = taken_in(env, headers=headers)
    action_id = automatic(env, place.message_id)
    order(env, place, action_id)
    assert run_one(env) == "failed"
    assert reason in (action_of(env, action_id).error or {})["reason"]
    assert times_sent(env) == 0


@pytest.mark.parametrize("changed", [{"to": ["eve@example.net"]}, {"bcc": ["eve@example.net"]}])
def test_it_reaches_nobody_outside_the_conversation(env: MailEnvironment, changed: dict[str, object]) -> None:
    place = taken_in(env)
    order(env, place, automatic(env, place.message_id), **changed)
    assert run_one(env) == "failed"
    assert times_sent(env) == 0


def test_an_account_that_did_not_allow_it_sends_nothing_by_itself(env: MailEnvironment) -> None:
    place = taken_in(env)
    order(env, place, automatic(env, place.message_id, allowed=False))
    assert run_one(env) == "failed"
    order(env, place, approved(env, place.message_id))
    assert run_one(env) == "succeeded"
    assert times_sent(env) == 1
