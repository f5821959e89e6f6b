"""A full sync decides by one time what is due, and looks at all that waits, however much there is."""

from datetime import datetime, timedelta
from uuid import UUID

import pytest

from domain.orgs.access.api_keys import Role
from storage.mail.accounts import accounts
from tests.doubles.factories import make_org
from tests.doubles.mail_environment import MailEnvironment, taken_in
from tests.gateway.api.conftest import client_of
from tests.gateway.serving import serve

MANY = 501
"""More than a page."""


def full_synced_at(env: MailEnvironment) -> datetime | None:
    with env.process.database.ledger() as tx:
        return accounts.get(tx, env.account.account_id).full_synced_at


def test_the_time_that_is_stored_is_the_one_that_was_decided_by(env: MailEnvironment) -> None:
    """Time passes with each search; an age that fell between look and mark was met by no sync."""
    env.sync()
    env.label("Needs Response")
    job_id = env.enqueue("gmail.sync", {"force_full": True, "reason": "full"})
    began, before = env.process.clock(), len(env.gmail.journal("messages.list"))

    def clock() -> datetime:
        return began + timedelta(minutes=len(env.gmail.journal("messages.list")) - before)

    env.process.clock = clock
    assert env.run(job_id) == "succeeded"
    assert clock() > began
    assert full_synced_at(env) == began


def test_mail_of_the_last_ten_days_is_looked_for(env: MailEnvironment) -> None:
    at = {days: int((env.process.clock() - timedelta(days=days)).timestamp() * 1000) for days in (9, 11)}
    places = {days: env.deliver("Note", "For your information only.", internal_date=at[days]) for days in at}
    env.sync(force_full=True)
    assert taken_in(env) == {places[9].message_id}


def test_a_service_has_a_mailbox_synced_over_http(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Note", "For your information only.")
    path, jobs = f"/v1/accounts/{env.account.account_id}/sync", list[UUID]()
    with serve(env.process.settings) as url:
        client = client_of(env.process.database, url, env.account.org_id, Role.WRITER)
        for body, is_new in ((None, True), ({}, False), ({"force_full": True}, True)):
            answer = client.post(path, body)
            assert (answer.status, answer.json["created"]) == (202, is_new)
            jobs.append(UUID(answer.json["job_id"]))
        assert client.post(path, {"force_full": "yes"}).json["field"] == "force_full"
        stranger = client_of(env.process.database, url, make_org(env.database, "another org"), Role.OPERATOR)
        assert stranger.post(path).status == 404
        assert client_of(env.process.database, url, env.account.org_id, Role.READER).post(path).status == 403
    assert jobs[0] == jobs[1]
    payloads = [env.job(job_id)["payload"] for job_id in jobs[1:]]
    assert [(one["force_full"], one["reason"]) for one in payloads] == [(False, "admin"), (True, "admin")]
    assert {end for _, end in env.drain()} == {"succeeded"}
    assert place.message_id in taken_in(env)
    assert full_synced_at(env) is not None


def stored_without_decision(env: MailEnvironment) -> None:
    """As many messages in the inbox, all stored, none decided."""
    env.sync()
    for number in range(MANY):
        env.deliver(f"Letter {number}", "For your information only.")
    org, account_id = env.account.org_id, env.account.account_id
    for place in env.mailbox.state().messages:
        values = {"org": org, "account": account_id, "message": place["message_id"], "thread": place["thread_id"]}
        env.database.execute(
            "insert into threads select %(org)s, %(account)s, %(thread)s, now(), now() on conflict do nothing",
            values,
        )
        env.database.execute(
            "insert into messages (org_id, account_id, gmail_message_id, gmail_thread_id, direction, received_at, size,"
            " labels, subject, body, document) values (%(org)s, %(account)s, %(message)s, %(thread)s, 'incoming',"
            " now() - interval '2 hours', 1, '{INBOX}', 'x', 'x', '{}')",
            values,
        )


def classifications(env: MailEnvironment) -> int:
    return env.count("select count(*) from jobs where job_type = 'triage.classify' and state = 'queued'")


@pytest.mark.parametrize("undecided", [False, True])
def test_messages_beyond_a_page_are_looked_at(env: MailEnvironment, *, undecided: bool) -> None:
    """Those that keep failing hide no newer ones, and a model that is new is asked about all."""
    stored_without_decision(env)
    reason = "admin"
    if undecided:
        reason = "full"
        env.database.execute("update accounts set full_synced_at = now() - interval '10 minutes'")
        env.database.execute(
            "insert into decisions (org_id, account_id, gmail_message_id, source, classification, confidence,"
            " rationale, needs_review, undecided_by)"
            " select org_id, account_id, gmail_message_id, 'llm', 'needs_review', 0, 'x', true, 'another model'"
            " from messages"
        )
    assert env.run(env.enqueue("gmail.sync", {"force_full": True, "reason": reason})) == "succeeded"
    assert classifications(env) == MANY
