"""A rework that Gmail keeps refusing is paid for a few times; then its person is told."""

from typing import Any

import pytest

from domain.mail.correspondence import MOST_REWORKS, EmailState
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.drafts.reworks import drafted, labels_of, put_rework, words


@pytest.mark.parametrize("fault", [{"status": 403, "reason": "domainPolicy"}, {"status": 500}])
def test_a_rework_that_keeps_failing_ends_with_its_person(env: MailEnvironment, fault: dict[str, Any]) -> None:
    place = drafted(env)
    old, asked = words(env), len(env.model.journal("messages.create"))
    put_rework(env, place)
    env.fail("drafts.update", times=None, **fault)
    env.sync()
    for _ in range(MOST_REWORKS + 3):
        env.hour_later()
    assert len(env.model.journal("messages.create")) - asked == MOST_REWORKS + 1
    assert (env.state(place.thread_id), words(env)) == (EmailState.SKIPPED, old)
    assert labels_of(env, place) == {"Postroom/Action Required"}


def test_a_rework_after_one_that_was_given_up_is_the_second(env: MailEnvironment) -> None:
    place = drafted(env)
    put_rework(env, place)
    env.fail("drafts.update", status=403, reason="domainPolicy")
    env.sync()
    env.hour_later()
    email = env.email(place.thread_id)
    assert (email.state, email.rework_count) == (EmailState.DRAFTED, 2)
    assert labels_of(env, place) == {"Postroom/Outbox"}
