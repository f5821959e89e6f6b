"""A message whose classification fails after the model was paid is not paid for by each hourly full sync."""

from typing import Any

import pytest

from tests.doubles.mail_environment import MailEnvironment

HOURS = 8


def answers(env: MailEnvironment) -> int:
    return len(env.model.journal("messages.create"))


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        ("labels.create", {"status": 400, "reason": "invalidArgument", "message": "Invalid label name"}),
        ("messages.modify", {"status": 403, "reason": "domainPolicy"}),
        ("messages.modify", {"status": 500}),
    ],
)
def test_it_is_paid_for_less_and_less_often(env: MailEnvironment, operation: str, fault: dict[str, Any]) -> None:
    env.sync()
    env.deliver("Lunch?", "Does noon suit you? Please reply.")
    env.fail(operation, times=None, **fault)
    env.sync()
    for _ in range(HOURS):
        env.hour_later()
    assert answers(env) == 1 + len((1, 2, 4, 8))


def test_it_is_classified_when_the_mailbox_takes_labels_again(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch?", "Does noon suit you? Please reply.")
    env.fail("labels.create", status=400, reason="invalidArgument", message="Invalid label name")
    env.sync()
    assert env.count("select count(*) from decisions") == 0
    env.hour_later()
    assert env.email(place.thread_id).draft_id is not None


def test_an_operators_full_sync_asks_at_once(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch?", "Does noon suit you? Please reply.")
    env.fail("labels.create", status=400, reason="invalidArgument", message="Invalid label name")
    env.sync()
    env.sync(force_full=True)
    assert env.email(place.thread_id).draft_id is not None
