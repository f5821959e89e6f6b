"""A mail that left after the moment to which the ledger was restored does not leave once more."""

import pytest

from domain.mail.actions.status import ActionStatus
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.outgoing_orders import action_of, the_sent, times_sent
from tests.servers.backup import back_up
from tests.tasks.mail.outbound.test_outbound_failures import ends, ordered, send_job


def test_a_reply_is_found_in_its_thread(env: MailEnvironment) -> None:
    action_id = ordered(env)
    backup = back_up(env.database)
    assert ends(env)[-1] == "succeeded"
    backup.restore(env.process)
    assert ends(env)[-1] == "succeeded"
    assert times_sent(env) == 1
    action = action_of(env, action_id)
    assert (action.state, action.sent_message_id) == (ActionStatus.DONE, the_sent(env)[0]["message_id"])


def test_a_reply_that_never_left_leaves(env: MailEnvironment) -> None:
    ordered(env)
    back_up(env.database).restore(env.process)
    assert ends(env)[-1] == "succeeded"
    assert times_sent(env) == 1


@pytest.mark.parametrize("has_left", [True, False])
def test_of_a_forward_a_person_decides(env: MailEnvironment, *, has_left: bool) -> None:
    """It is in no thread of before, and history is known from after the restoration on."""
    action_id = ordered(env, "forward")
    backup = back_up(env.database)
    if has_left:
        assert ends(env)[-1] == "succeeded"
    backup.restore(env.process)
    assert ends(env)[-1] == "dead"
    assert times_sent(env) == has_left
    assert (action_of(env, action_id).error or {})["code"] == "uncertain"


@pytest.mark.parametrize("kind", ["reply", "forward"])
def test_one_whose_draft_was_there_is_known_by_it(env: MailEnvironment, kind: str) -> None:
    action_id = ordered(env, kind)
    env.fail("drafts.send", status=503)
    assert env.run(send_job(env)) == "queued"
    backup = back_up(env.database)
    assert ends(env)[-1] == "succeeded"
    backup.restore(env.process)
    assert ends(env)[-1] == "succeeded"
    assert times_sent(env) == 1
    assert action_of(env, action_id).state is ActionStatus.DONE


def test_a_restoration_that_nobody_says_sends_twice(env: MailEnvironment) -> None:
    ordered(env)
    backup = back_up(env.database)
    assert ends(env)[-1] == "succeeded"
    backup.restore(env.process, is_said=False)
    assert ends(env)[-1] == "succeeded"
    assert times_sent(env) == 2
