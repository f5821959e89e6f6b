"""Slowing down: a provider's refusal closes a gate for whom it concerns (docs: gmail.md#errors, anthropic.md)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from commands.doctor import of_ledger
from domain.jobs.gate_causes import Cause
from domain.jobs.job import SYSTEM_ORG
from domain.mail.correspondence import EmailState
from operations import health
from sandbox.emulator.control import FaultOrder
from storage.jobs import gates
from tests.doubles.factories import pass_time
from tests.doubles.mail_environment import MailEnvironment, connect

provider_check = of_ledger(health.provider_check)

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."


def wait_of(env: MailEnvironment, scope: str, key: str) -> float:
    """Seconds that a gate stays closed from now."""
    row = env.database.execute(
        "select extract(epoch from until - now()) from gates where scope = %s and key = %s", (scope, key)
    ).fetchone()
    assert row is not None
    return float(row[0])


def neighbour(env: MailEnvironment) -> UUID:
    """Another mailbox of the same org."""
    env.gmail.create_account("neighbour@postroom.example", "access-n", "refresh-n")
    return connect(env.process, "neighbour@postroom.example", "access-n", "refresh-n").account_id


@pytest.mark.parametrize(
    ("order", "least", "most"),
    [
        ({"status": 429}, 25, 31),  # the emulator writes "Retry after <30 s from now>" into the text, as Gmail does
        ({"status": 403, "reason": "rateLimitExceeded"}, 50, 61),
        ({"status": 403, "reason": "userRateLimitExceeded", "headers": {"Retry-After": "200"}}, 190, 201),
    ],
)
def test_a_limit_closes_the_account_and_no_other(
    env: MailEnvironment, order: dict[str, object], least: float, most: float
) -> None:
    other = neighbour(env)
    env.fail("getProfile", **order)
    sync = env.enqueue("gmail.sync")
    assert env.run(sync) == "queued"
    assert least < wait_of(env, "account", str(env.account.account_id)) < most
    assert env.job(sync)["attempt"] == 0
    begun = env.gmail.journal()[-1].sequence
    assert env.run(env.enqueue("gmail.sync_labels")) == "not_claimed"
    assert env.gmail.journal(since=begun) == []
    assert env.run(env.enqueue("gmail.sync", {"account_id": str(other)})) == "succeeded"
    assert ("gmail.sync", "succeeded") in env.drain()


def test_the_days_quota_closes_the_provider(env: MailEnvironment) -> None:
    other = neighbour(env)
    env.fail("getProfile", status=403, reason="dailyLimitExceeded")
    assert env.run(env.enqueue("gmail.sync")) == "queued"
    assert wait_of(env, "provider", "gmail") > 3000
    assert env.run(env.enqueue("gmail.sync", {"account_id": str(other)})) == "not_claimed"


def test_a_passing_error_of_a_read_is_tried_again(env: MailEnvironment) -> None:
    env.fail("getProfile", status=500)
    sync = env.enqueue("gmail.sync")
    assert [end for _, end in env.drain()] == ["queued", "succeeded"]
    assert env.job(sync)["attempt"] == 2
    assert env.count("select count(*) from gates") == 0


def test_the_models_limit_closes_the_model_and_not_the_mailbox(env: MailEnvironment) -> None:
    env.sync()
    env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.model.order(limit(429, "rate_limit_error", {"retry-after": "600"}))
    assert env.drain(only="triage.%")[0] == ("triage.classify", "queued")
    # the drain let the time pass that the model had asked for
    assert len(env.model.journal("messages.create")) == 2
    row = env.database.execute(
        "select attempt, extract(epoch from run_at - created_at) from jobs where job_type = 'triage.classify'"
    ).fetchone()
    assert row is not None
    assert row[0] == 1
    assert row[1] >= 599


def test_an_overloaded_model_is_asked_again_by_the_retry_policy(env: MailEnvironment) -> None:
    env.sync()
    env.deliver("Lunch?", QUESTION)
    env.model.order(limit(529, "overloaded_error", {}))
    ends = env.sync()
    assert [end for job, end in ends if job == "triage.classify"] == ["queued", "succeeded"]
    assert env.count("select count(*) from gates") == 0


def test_a_spend_limit_closes_the_model_until_the_month_turns(env: MailEnvironment) -> None:
    env.sync()
    env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.model.order(limit(429, "enforced_spend_limit_reached", {"retry-after": "1"}))
    row = env.database.execute("select id from jobs where job_type = 'triage.classify'").fetchone()
    assert row is not None
    assert env.run(row[0]) == "queued"
    now = datetime.now(UTC)
    turn = datetime(now.year + now.month // 12, now.month % 12 + 1, 1, tzinfo=UTC)
    assert abs(wait_of(env, "provider", "anthropic") - (turn - now).total_seconds()) < 60
    assert env.run(row[0]) == "not_claimed"
    assert env.run(env.enqueue("gmail.sync")) == "succeeded"


LIMITS = "You have reached your specified API usage limits. You will regain access on {} at 00:00 UTC."


@pytest.mark.parametrize(
    ("message", "days"),
    [
        ("Your credit balance is too low to access the Anthropic API.", None),
        ("This organization has been disabled.", None),
        (LIMITS, 3),
    ],
)
def test_mail_is_decided_when_the_vendor_takes_our_money_again(
    env: MailEnvironment, message: str, days: int | None
) -> None:
    env.sync()
    env.deliver("Lunch?", QUESTION)
    env.deliver("Dinner?", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    day = (datetime.now(UTC) + timedelta(days=days or 0)).replace(hour=0, minute=0, second=0, microsecond=0)
    order = limit(400, "invalid_request_error", {})
    env.model.order(replace(order, message=message.format(f"{day:%Y-%m-%d}"), times=None))
    jobs = [row[0] for row in env.database.execute("select id from jobs where job_type = 'triage.classify'")]
    assert len(jobs) == 2
    assert [env.run(one) for one in jobs] == ["queued", "not_claimed"]
    lasts = 3600 if days is None else (day - datetime.now(UTC)).total_seconds()
    assert abs(wait_of(env, "provider", "anthropic") - lasts) < 60
    assert (env.job(jobs[0])["attempt"], env.count("select count(*) from decisions")) == (0, 0)
    raised = [env.run(look(env)) for _ in range(2)]
    assert raised == ["succeeded"] * 2
    assert env.count("select count(*) from jobs where payload ->> 'kind' = 'provider'") == 1, "an alert, once"
    env.model.clear_faults()
    pass_time(env.database, timedelta(seconds=lasts + 60))
    assert [end for job, end in env.drain() if job == "triage.classify"] == ["succeeded"] * 2
    assert env.count("select count(*) from decisions where needs_review") == 0
    assert env.count("select count(*) from decisions") == 2


def look(env: MailEnvironment) -> UUID:
    """The schedule's job that raises alerts."""
    query = "select postroom.enqueue('maintenance.raise_alerts', %s, '{}'::jsonb)"
    ((made,),) = env.database.execute(query, (SYSTEM_ORG,)).fetchall()
    return UUID(str(made))


@pytest.mark.parametrize(
    ("status", "named"),
    [
        (401, "status 401"),
        (402, "status 402"),
        (403, "permission_error, model claude-sonnet-5-5"),
        (404, "not_found_error, model claude-sonnet-5-5"),
    ],
)
def test_an_e_mail_waits_while_no_draft_can_be_asked_for_and_goes_on_afterwards(
    env: MailEnvironment, status: int, named: str
) -> None:
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    for family in ("gmail", "triage"):
        env.drain(only=f"{family}.%")
    env.model.order(FaultOrder(operation="messages.create", status=status))
    (job_id,) = env.database.execute("select id from jobs where job_type = 'drafts.write'").fetchone() or (None,)
    assert job_id is not None
    assert [env.run(job_id), env.run(job_id)] == ["queued", "not_claimed"]
    assert (env.job(job_id)["attempt"], env.state(place.thread_id)) == (0, EmailState.PENDING)
    check = provider_check(env.process)
    assert not check.ok
    assert named in check.finding
    assert "gates open provider anthropic --cause slow_down" in check.remedy, "a person's pause stays"
    with env.process.database.ledger() as tx:
        gates.open_gate(tx, "provider", "anthropic", Cause.SLOW_DOWN)
    pass_time(env.database, timedelta(minutes=1))
    assert env.run(job_id) == "succeeded"
    assert env.state(place.thread_id) is EmailState.DRAFTED


def limit(status: int, reason: str, headers: dict[str, str]) -> FaultOrder:
    return FaultOrder(operation="messages.create", status=status, reason=reason, headers=headers)
