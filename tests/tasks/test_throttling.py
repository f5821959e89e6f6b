"""Slowing down: a provider's refusal closes a gate for whom it concerns (docs: gmail.md#errors, anthropic.md)."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from sandbox.emulator.control import FaultOrder
from tests.doubles.worlds import World, connect

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."


def wait_of(world: World, scope: str, key: str) -> float:
    """Seconds that a gate stays closed from now."""
    row = world.database.execute(
        "select extract(epoch from until - now()) from gates where scope = %s and key = %s", (scope, key)
    ).fetchone()
    assert row is not None
    return float(row[0])


def neighbour(world: World) -> UUID:
    """Another mailbox of the same org."""
    world.gmail.create_account("neighbour@postroom.example", "access-n", "refresh-n")
    return connect(world.process, "neighbour@postroom.example", "access-n", "refresh-n").account_id


@pytest.mark.parametrize(
    ("order", "least", "most"),
    [
        ({"status": 429}, 25, 31),  # the emulator writes "Retry after <30 s from now>" into the text, as Gmail does
        ({"status": 403, "reason": "rateLimitExceeded"}, 50, 61),
        ({"status": 403, "reason": "userRateLimitExceeded", "headers": {"Retry-After": "200"}}, 190, 201),
    ],
)
def test_a_limit_closes_the_account_and_no_other(
    world: World, order: dict[str, object], least: float, most: float
) -> None:
    other = neighbour(world)
    world.fail("getProfile", **order)
    sync = world.enqueue("gmail.sync")
    assert world.run(sync) == "queued"
    assert least < wait_of(world, "account", str(world.account.account_id)) < most
    assert world.job(sync)["attempt"] == 0
    begun = world.gmail.journal()[-1].sequence
    assert world.run(world.enqueue("gmail.sync_labels")) == "not_claimed"
    assert world.gmail.journal(since=begun) == []
    assert world.run(world.enqueue("gmail.sync", {"account_id": str(other)})) == "succeeded"
    assert ("gmail.sync", "succeeded") in world.drain()


def test_the_days_quota_closes_the_provider(world: World) -> None:
    other = neighbour(world)
    world.fail("getProfile", status=403, reason="dailyLimitExceeded")
    assert world.run(world.enqueue("gmail.sync")) == "queued"
    assert wait_of(world, "provider", "gmail") > 3000
    assert world.run(world.enqueue("gmail.sync", {"account_id": str(other)})) == "not_claimed"


def test_a_passing_error_of_a_read_is_tried_again(world: World) -> None:
    world.fail("getProfile", status=500)
    sync = world.enqueue("gmail.sync")
    assert [end for _, end in world.drain()] == ["queued", "succeeded"]
    assert world.job(sync)["attempt"] == 2
    assert world.count("select count(*) from gates") == 0


def test_the_models_limit_closes_the_model_and_not_the_mailbox(world: World) -> None:
    world.sync()
    world.deliver("Lunch?", QUESTION)
    world.enqueue("gmail.sync")
    world.drain(only="gmail.%")
    world.model.order(limit(429, "rate_limit_error", {"retry-after": "600"}))
    assert world.drain(only="triage.%")[0] == ("triage.classify", "queued")
    # the drain let the time pass that the model had asked for
    assert len(world.model.journal("messages.create")) == 2
    row = world.database.execute(
        "select attempt, extract(epoch from run_at - created_at) from jobs where job_type = 'triage.classify'"
    ).fetchone()
    assert row is not None
    assert row[0] == 1
    assert row[1] >= 599


def test_an_overloaded_model_is_asked_again_by_the_retry_policy(world: World) -> None:
    world.sync()
    world.deliver("Lunch?", QUESTION)
    world.model.order(limit(529, "overloaded_error", {}))
    ends = world.sync()
    assert [end for job, end in ends if job == "triage.classify"] == ["queued", "succeeded"]
    assert world.count("select count(*) from gates") == 0


def test_a_spend_limit_closes_the_model_until_the_month_turns(world: World) -> None:
    world.sync()
    world.deliver("Lunch?", QUESTION)
    world.enqueue("gmail.sync")
    world.drain(only="gmail.%")
    world.model.order(limit(429, "enforced_spend_limit_reached", {"retry-after": "1"}))
    row = world.database.execute("select id from jobs where job_type = 'triage.classify'").fetchone()
    assert row is not None
    assert world.run(row[0]) == "queued"
    now = datetime.now(UTC)
    turn = datetime(now.year + now.month // 12, now.month % 12 + 1, 1, tzinfo=UTC)
    assert abs(wait_of(world, "provider", "anthropic") - (turn - now).total_seconds()) < 60
    assert world.run(row[0]) == "not_claimed"
    assert world.run(world.enqueue("gmail.sync")) == "succeeded"


def limit(status: int, reason: str, headers: dict[str, str]) -> FaultOrder:
    return FaultOrder(operation="messages.create", status=status, reason=reason, headers=headers)
