"""Questions whose job ended in the middle of the call: what the channel can prove, and who hears of what it cannot."""

from datetime import timedelta
from typing import Literal
from uuid import UUID

import pytest

from domain.jobs.job import Origin
from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.fault_order import FaultOrder
from storage.ledger import ledger
from tests.doubles.approvals import CHANNEL, ask_in_channel, messages, waiting
from tests.doubles.factories import pass_time
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.approvals.test_approvals import ASKED, bot, env
from tests.tasks.test_doubts import reconcile, told

__all__ = ["bot", "env"]

OTHER = "222"
LETTER = """
insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan)
select org_id, id, job_type, queue, payload, payload_version, 'x', '{}', 'x' from jobs where id = %s
"""
EARLIER = """
update job_steps set result = result || jsonb_build_object('at', ((result ->> 'at')::timestamptz - %s)::text)
"""


def ended_in_the_call(
    env: MailEnvironment, bot: EmulatorControl, *, lost: Literal["before", "after"] = "after"
) -> UUID:
    """A job whose call was lost before or after the question was posted, and that was canceled without finding out."""
    waiting(env)
    bot.order(FaultOrder(operation="channel.post", drop=lost))
    ((job_id,),) = env.database.execute("select id from jobs where job_type = %s", (ASKED,)).fetchall()
    assert env.run(job_id) == "queued"
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [job_id], "no longer needed", by=Origin())
    return UUID(str(job_id))


def forget(env: MailEnvironment, job_id: UUID) -> None:
    """The job leaves by its retention; what it was about is still known by its dead letter."""
    env.database.execute(LETTER, (job_id,))
    env.database.execute("delete from jobs where id = %s", (job_id,))


def status(env: MailEnvironment) -> str:
    ((found,),) = env.database.execute("select status from idempotency_keys where key like 'approval:%'").fetchall()
    return str(found)


def test_a_question_is_found_in_its_channel(env: MailEnvironment, bot: EmulatorControl) -> None:
    ended_in_the_call(env, bot)
    assert reconcile(env) == {"asked": 1, "told": 0}
    assert status(env) == "succeeded"


def test_a_question_is_found_in_the_channel_in_which_its_job_asked(env: MailEnvironment, bot: EmulatorControl) -> None:
    ended_in_the_call(env, bot)
    ask_in_channel(env, OTHER)
    assert reconcile(env) == {"asked": 1, "told": 0}
    assert status(env) == "succeeded"


def test_another_channel_does_not_prove_that_nobody_was_asked(env: MailEnvironment, bot: EmulatorControl) -> None:
    """By when the job is not kept any more, and nobody knows in which channel it asked."""
    forget(env, ended_in_the_call(env, bot))
    ask_in_channel(env, OTHER)
    bot.post("/_control/write", {"channel": OTHER, "content": "hello"})
    reconcile(env)
    assert len(messages(bot)) == 1
    assert status(env) == "unknown"


@pytest.mark.parametrize("is_kept", [True, False])
def test_the_same_channel_named_again_still_proves_that_nobody_was_asked(
    env: MailEnvironment, bot: EmulatorControl, *, is_kept: bool
) -> None:
    bot.post("/_control/write", {"channel": CHANNEL, "content": "an older question"})
    job_id = ended_in_the_call(env, bot, lost="before")
    ask_in_channel(env, CHANNEL)
    if not is_kept:
        forget(env, job_id)
    assert reconcile(env) == {"asked": 1, "told": 0}
    assert status(env) == "failed"


def test_people_are_asked_once_discord_is_back_after_half_an_hour(env: MailEnvironment, bot: EmulatorControl) -> None:
    """In a channel that is quiet meanwhile; the waits are the shortest that chance may choose."""
    bot.post("/_control/write", {"channel": CHANNEL, "content": "an older question"})
    bot.post("/_control/clock", {"advance_s": 3600})
    waiting(env)
    ((job_id,),) = env.database.execute("select id from jobs where job_type = %s", (ASKED,)).fetchall()
    bot.order(FaultOrder(operation="channel.*", status=503, times=None))
    passed = timedelta(0)
    while passed < timedelta(minutes=30):
        assert env.run(job_id) == "queued"
        ((left,),) = env.database.execute("select run_at - now() from jobs where id = %s", (job_id,)).fetchall()
        passed += left
        pass_time(env.database, left)
        env.database.execute(EARLIER, (left,))
        bot.post("/_control/clock", {"advance_s": left.total_seconds()})
    bot.clear_faults()
    assert env.drain(only=ASKED)[-1] == (ASKED, "succeeded")
    assert len(messages(bot)) == 2


@pytest.mark.parametrize("closed", ["forbidden", "deleted"])
def test_a_person_is_told_when_the_question_is_refused_for_good(
    env: MailEnvironment, bot: EmulatorControl, closed: str
) -> None:
    ended_in_the_call(env, bot)
    bot.post("/_control/close", {closed: [CHANNEL]})
    assert reconcile(env) == {"asked": 1, "told": 0}
    assert status(env) == "unknown"
    assert reconcile(env, timedelta(hours=1)) == {"asked": 0, "told": 1}
    assert told(env) == 1
