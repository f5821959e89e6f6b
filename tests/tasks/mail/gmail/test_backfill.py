"""Older mail: page by page, each message once, never classified unasked, and never before the mail of today."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from domain.jobs.job import Origin
from domain.mail.backfill import MOST_RESTARTS, PRIORITY
from domain.payloads.gmail import MOST_AT_ONCE
from operations.jobs import cancellations
from sandbox.emulator.control import MessagePlace
from settings import Settings
from storage.mail import backfills
from storage.mail.accounts import accounts
from storage.mail.backfills import Backfill
from tests.doubles.factories import make_org
from tests.doubles.mail_environment import MailEnvironment, connect, taken_in

NOW = datetime.now(UTC)
QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."


def old(env: MailEnvironment, days: int, text: str = "For your information only.", **options: Any) -> MessagePlace:  # noqa: ANN401 - as the emulator takes them
    """A letter that came so many days ago."""
    at = int((NOW - timedelta(days=days)).timestamp() * 1000)
    return env.deliver(f"Letter of {days} days ago", text, internal_date=at, **options)


def letters(env: MailEnvironment, count: int = 5, *, page: int = 2) -> list[MessagePlace]:
    """So many old letters in a mailbox whose searches have small pages."""
    env.mailbox.turn(largest_page=page)
    return [old(env, 100 + number) for number in range(count)]


def standing(env: MailEnvironment) -> Backfill:
    with env.process.database.ledger() as tx:
        (found,) = backfills.list_all(tx, env.account.account_id)
    return found


def fetched(env: MailEnvironment) -> list[str]:
    return [call.summary["message_id"] for call in env.gmail.journal("messages.get") if call.status == 200]


def ids(places: list[MessagePlace]) -> set[str]:
    return {place.message_id for place in places}


def test_older_mail_is_taken_in_by_pages_and_not_classified(env: MailEnvironment) -> None:
    places = letters(env)
    job_id = env.enqueue("gmail.backfill")
    ends = env.drain()
    assert {end for _, end in ends} == {"succeeded", "queued"}
    assert {name for name, _ in ends} == {"gmail.backfill", "gmail.backfill_messages"}
    assert taken_in(env) == ids(places)
    assert sorted(fetched(env)) == sorted(ids(places)), "each once"
    assert env.count("select count(*) from jobs where job_type = 'triage.classify'") == 0
    found = standing(env)
    counts = (found.pages, found.found, found.ordered, found.handled, found.stored)
    assert (found.state, *counts) == ("listed", 3, 5, 5, 5, 5)
    output = env.job(job_id)["output"]
    assert (output["state"], output["pages"], output["found"], output["ordered"]) == ("listed", 3, 5, 5)


def test_its_jobs_stand_behind_all_others_and_apart_from_one_another(env: MailEnvironment) -> None:
    letters(env, MOST_AT_ONCE + 1, page=500)
    env.enqueue("gmail.backfill")
    env.drain(only="gmail.backfill")
    rows = env.database.execute(
        "select queue, priority, jsonb_array_length(payload -> 'message_ids'), run_at - created_at from jobs"
        " where job_type = 'gmail.backfill_messages' order by run_at"
    ).fetchall()
    assert [row[:3] for row in rows] == [("maintenance", PRIORITY, MOST_AT_ONCE), ("maintenance", PRIORITY, 1)]
    assert timedelta(seconds=11) < rows[1][3] - rows[0][3] < timedelta(seconds=13)


def test_it_classifies_when_it_is_asked_to(env: MailEnvironment) -> None:
    asked = old(env, 50, QUESTION)
    old(env, 51, QUESTION, label_ids=("SENT",))
    old(env, 52, QUESTION, label_ids=("IMPORTANT",))
    env.enqueue("gmail.backfill", {"classify": True})
    env.drain()
    decided = env.database.execute("select gmail_message_id from decisions").fetchall()
    assert decided == [(asked.message_id,)]


def test_the_window_and_the_query_say_what_is_wanted(env: MailEnvironment) -> None:
    old(env, 5)
    wanted = old(env, 20)
    old(env, 40)
    old(env, 21, headers={"From": "Ben <ben@example.com>"})
    since, until = (NOW - timedelta(days=days) for days in (30, 10))
    payload = {"query": "from:anna", "since": since.isoformat(), "until": until.isoformat()}
    env.enqueue("gmail.backfill", payload)
    env.drain()
    assert taken_in(env) == {wanted.message_id}


def test_mail_that_comes_in_meanwhile_is_left_to_history(env: MailEnvironment) -> None:
    env.sync()
    letters(env, 3)
    job_id = env.enqueue("gmail.backfill")
    assert env.run(job_id) == "queued"
    new = env.deliver("Lunch?", QUESTION, internal_date=int((NOW + timedelta(hours=1)).timestamp() * 1000))
    env.drain()
    assert new.message_id not in taken_in(env)
    env.sync()
    assert env.count("select count(*) from decisions where gmail_message_id = %s", new.message_id) == 1


def test_what_is_stored_is_not_fetched_again(env: MailEnvironment) -> None:
    places = letters(env)
    env.enqueue("gmail.backfill")
    env.drain()
    before = len(fetched(env))
    env.enqueue("gmail.backfill")
    env.drain()
    assert len(fetched(env)) == before
    found = standing(env)
    assert (found.state, found.found, found.ordered) == ("listed", len(places), 0)


@pytest.mark.parametrize("batches_done", [0, 1])
def test_after_a_cancellation_the_same_search_loses_nothing_and_fetches_nothing_twice(
    env: MailEnvironment, batches_done: int
) -> None:
    """The batches that it had ordered are canceled with it."""
    places = letters(env)
    first = env.enqueue("gmail.backfill")
    assert env.run(first) == "queued"
    assert env.count("select count(*) from jobs where job_type = 'gmail.backfill_messages'") == 1
    if batches_done:
        assert env.run(queued(env, "gmail.backfill_messages")) == "succeeded"
    cancel(env, first)
    env.drain()
    assert len(taken_in(env)) == 2 * batches_done
    env.enqueue("gmail.backfill")
    env.drain()
    assert taken_in(env) == ids(places)
    assert sorted(fetched(env)) == sorted(ids(places))
    assert standing(env).state == "listed"


def cancel(env: MailEnvironment, job_id: UUID) -> None:
    cancellations.cancel(env.process.database, [job_id], "a person's wish", by=Origin())


def test_a_page_whose_token_has_expired_costs_nothing_twice(env: MailEnvironment) -> None:
    places = letters(env)
    env.mailbox.turn(forgotten_pages=1)
    env.enqueue("gmail.backfill")
    env.drain()
    assert taken_in(env) == ids(places)
    assert sorted(fetched(env)) == sorted(ids(places))
    assert (standing(env).restarts, standing(env).found) == (1, len(places))


def test_a_mailbox_that_forgets_every_page_ends_it_with_the_reason(env: MailEnvironment) -> None:
    letters(env)
    env.mailbox.turn(forgotten_pages=1_000)
    job_id = env.enqueue("gmail.backfill")
    env.drain()
    assert (env.job(job_id)["state"], env.job(job_id)["error"]["code"]) == ("failed", "backfill.restarts")
    assert standing(env).restarts == MOST_RESTARTS
    env.mailbox.turn(forgotten_pages=0)


def test_no_more_than_the_stated_number_is_taken_in(env: MailEnvironment) -> None:
    places = letters(env)
    env.enqueue("gmail.backfill", {"most": 3})
    env.drain()
    assert taken_in(env) == ids(places[:3]), "the newest"
    assert standing(env).state == "cut"


def queued(env: MailEnvironment, job_type: str) -> UUID:
    """The one job of a type that waits."""
    rows = env.database.execute("select id from jobs where job_type = %s and state = 'queued'", (job_type,)).fetchall()
    assert len(rows) == 1
    return UUID(str(rows[0][0]))


class TestShare:
    """Older mail has a share of Gmail's units, and no more."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"rate_limits": {"gmail_backfill.user": 45}})

    def test_the_mail_of_today_does_not_wait_for_the_mail_of_yesterday(self, env: MailEnvironment) -> None:
        letters(env, 3, page=500)
        env.sync()
        env.enqueue("gmail.backfill")
        env.drain(only="gmail.backfill")
        batch = queued(env, "gmail.backfill_messages")
        assert env.run(batch) == "queued"
        assert len(taken_in(env)) == 2, "5 units for the page, 20 for each message"
        assert env.count("select count(*) from gates") == 0
        assert env.job(batch)["attempt"] == 0
        place = env.deliver("Lunch?", QUESTION)
        env.enqueue("gmail.sync")
        assert env.run(queued(env, "gmail.sync")) == "succeeded"
        assert env.run(queued(env, "gmail.ingest")) == "succeeded"
        assert place.message_id in taken_in(env)


def test_gmails_own_limit_parks_it_and_it_goes_on(env: MailEnvironment) -> None:
    places = letters(env, 3, page=500)
    env.fail("messages.get", status=429, skip=1)
    env.enqueue("gmail.backfill")
    env.drain(only="gmail.backfill")
    assert env.run(queued(env, "gmail.backfill_messages")) == "queued"
    assert env.count("select count(*) from gates where scope = 'account'") == 1
    env.database.execute("delete from gates")
    env.drain()
    assert taken_in(env) == ids(places)
    assert len(fetched(env)) == 3


def test_one_message_that_cannot_be_taken_in_keeps_no_other_back(env: MailEnvironment) -> None:
    places = letters(env, 4, page=500)
    env.garble(places[1].message_id)
    env.enqueue("gmail.backfill")
    env.drain()
    assert taken_in(env) == ids(places) - {places[1].message_id}
    assert env.count("select count(*) from dead_letters where job_type = 'gmail.backfill_messages'") == 1
    found = standing(env)
    assert (found.ordered, found.handled, found.stored) == (4, 0, 3)


def test_drafts_spam_trash_and_what_is_gone_are_passed_over(env: MailEnvironment) -> None:
    kept = old(env, 30)
    old(env, 31, label_ids=("TRASH",))
    old(env, 32, label_ids=("SPAM",))
    gone = old(env, 33)
    env.enqueue("gmail.backfill", {"query": "in:anywhere"})
    env.drain(only="gmail.backfill")
    env.mailbox.delete_thread(gone.thread_id)
    env.drain()
    assert taken_in(env) == {kept.message_id}
    found = standing(env)
    assert (found.ordered, found.handled, found.stored) == (4, 4, 1)


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        ({"since": (NOW + timedelta(days=1)).isoformat()}, "payload.since: is in the future"),
        ({"query": "from:anna\u0007"}, "payload.query: carries a control character"),
        (
            {"since": "2026-02-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"},
            "payload.until: is not after since",
        ),
    ],
)
def test_what_cannot_be_meant_ends_at_once_with_its_field(
    env: MailEnvironment, payload: dict[str, Any], error: str
) -> None:
    job_id = env.enqueue("gmail.backfill", payload)
    assert env.run(job_id) in {"failed", "dead"}
    assert error in env.job(job_id)["error"]["reason"]
    assert env.job(job_id)["attempt"] == 1
    assert env.count("select count(*) from backfills") == 0


def test_the_same_search_is_one_job(env: MailEnvironment) -> None:
    assert env.enqueue("gmail.backfill") == env.enqueue("backfill.gmail", {"query": ""})
    assert env.enqueue("gmail.backfill", {"query": "from:anna"}) != env.enqueue("gmail.backfill")


def test_a_disconnected_account_ends_it(env: MailEnvironment) -> None:
    letters(env, 1)
    waiting = env.enqueue("gmail.backfill")
    with env.process.database.ledger() as tx:
        accounts.disconnect(tx, env.account.account_id, "the test")
    assert env.run(waiting) == "canceled"


def test_another_org_s_account_is_not_there(env: MailEnvironment) -> None:
    env.gmail.create_account("neighbour@postroom.example", "access-n", "refresh-n")
    other = connect(env.process, "neighbour@postroom.example", "access-n", "refresh-n").account_id
    stranger = make_org(env.database, "strangers")
    with env.process.database.ledger() as tx:
        made = tx.raw(
            "select postroom.enqueue('gmail.backfill', %(org)s, jsonb_build_object('account_id', %(account)s::text))"
            " as id",
            {"org": stranger, "account": str(other)},
        )[0].id
    assert env.run(made) == "failed"
    assert env.count("select count(*) from backfills") == 0
