"""Questions whose job ended in the middle of the call: what the channel can prove, and who hears of what it cannot."""

from datetime import timedelta
from typing import Literal
from uuid import UUID

import pytest

from domain.approvals.decision import Choice
from domain.jobs.job import Origin
from operations.jobs import replays
from operations.jobs.replays import Replacement
from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.fault_order import FaultOrder
from storage.jobs import ledger
from tests.doubles.approvals import ASKED_EARLIER, CHANNEL, ask_in_channel, decide, messages, waiting
from tests.doubles.factories import pass_time
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.approvals.test_approvals import ASKED, bot, env
from tests.tasks.approvals.test_doubts import reconcile, told

__all__ = ["bot", "env"]

OTHER = "222"
LETTER = """
insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan, history)
select org_id, id, job_type, queue, payload, payload_version, 'x', '{}', 'x',
  jsonb_build_array(jsonb_build_object('event', 'job.enqueued', 'at', created_at))
from jobs where id = %s
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


@pytest.mark.parametrize("is_decided", [True, False])
def test_a_question_that_is_found_shows_how_it_ends(
    env: MailEnvironment, bot: EmulatorControl, *, is_decided: bool
) -> None:
    ended_in_the_call(env, bot)
    ((action,),) = env.database.execute("select id from actions where state = 'approved_pending'").fetchall()
    if not is_decided:
        reconcile(env)
    decide(env, action, Choice.DENY)
    reconcile(env)
    env.drain(only="approvals.%")
    assert [one["components"] for one in messages(bot)] == [[]]


def test_a_question_is_found_in_the_channel_in_which_its_job_asked(env: MailEnvironment, bot: EmulatorControl) -> None:
    ended_in_the_call(env, bot)
    ask_in_channel(env, OTHER)
    assert reconcile(env) == {"asked": 1, "told": 0}
    assert status(env) == "succeeded"


def test_a_question_is_found_in_its_channel_when_its_job_is_not_kept_any_more(
    env: MailEnvironment, bot: EmulatorControl
) -> None:
    forget(env, ended_in_the_call(env, bot))
    ask_in_channel(env, OTHER)
    assert reconcile(env) == {"asked": 1, "told": 0}
    assert status(env) == "succeeded"


def test_a_question_of_which_nobody_knows_the_channel_stays_in_doubt(
    env: MailEnvironment, bot: EmulatorControl
) -> None:
    ended_in_the_call(env, bot)
    env.database.execute("update idempotency_keys set request = null where key like 'approval:%'")
    reconcile(env)
    assert status(env) == "unknown"


def test_the_same_channel_named_again_still_proves_that_nobody_was_asked(
    env: MailEnvironment, bot: EmulatorControl
) -> None:
    bot.post("/_control/write", {"channel": CHANNEL, "content": "an older question"})
    ended_in_the_call(env, bot, lost="before")
    ask_in_channel(env, CHANNEL)
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
        env.database.execute(ASKED_EARLIER, (left,))
        bot.post("/_control/clock", {"advance_s": left.total_seconds()})
    bot.clear_faults()
    assert env.drain(only=ASKED)[-1] == (ASKED, "succeeded")
    assert len(messages(bot)) == 2


def test_a_person_is_told_when_the_question_is_refused_for_good(env: MailEnvironment, bot: EmulatorControl) -> None:
    ended_in_the_call(env, bot)
    bot.post("/_control/close", {"forbidden": [CHANNEL]})
    assert reconcile(env) == {"asked": 1, "told": 0}
    assert status(env) == "unknown"
    assert reconcile(env, timedelta(hours=1)) == {"asked": 0, "told": 1}
    assert told(env) == 1


def second(env: MailEnvironment) -> UUID:
    """Another job that asks about the same action, half an hour later: the nonce is forgotten by then."""
    pass_time(env.database, timedelta(minutes=30))
    ((action,),) = env.database.execute("select id from actions where state = 'approved_pending'").fetchall()
    return env.enqueue(ASKED, {"account_id": str(env.account.account_id), "approval_id": str(action)})


def test_another_job_looks_in_the_channel_in_which_the_first_one_asked(
    env: MailEnvironment, bot: EmulatorControl
) -> None:
    ended_in_the_call(env, bot)
    ask_in_channel(env, OTHER)
    assert env.run(second(env)) == "succeeded"
    assert (len(messages(bot)), len(messages(bot, OTHER))) == (1, 0)


def test_another_job_asks_in_the_channel_of_now_what_the_first_one_did_not_ask(
    env: MailEnvironment, bot: EmulatorControl
) -> None:
    bot.post("/_control/write", {"channel": CHANNEL, "content": "an older question"})
    ended_in_the_call(env, bot, lost="before")
    ask_in_channel(env, OTHER)
    assert env.run(second(env)) == "succeeded"
    assert (len(messages(bot)), len(messages(bot, OTHER))) == (1, 1)


@pytest.mark.parametrize("lost", ["before", "after"])
def test_the_channel_of_the_question_is_asked_when_another_job_has_ended_in_doubt_too(
    env: MailEnvironment, bot: EmulatorControl, lost: Literal["before", "after"]
) -> None:
    bot.post("/_control/write", {"channel": CHANNEL, "content": "an older question"})
    ended_in_the_call(env, bot, lost=lost)
    ask_in_channel(env, OTHER)
    bot.order(FaultOrder(operation="channel.*", status=503, times=None))
    again = second(env)
    assert env.run(again) == "queued"
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [again], "no longer needed", by=Origin())
    bot.clear_faults()
    assert reconcile(env) == {"asked": 1, "told": 0}
    assert status(env) == ("succeeded" if lost == "after" else "failed")


def test_a_mended_replay_looks_in_the_channel_in_which_the_dead_job_asked(
    env: MailEnvironment, bot: EmulatorControl
) -> None:
    job_id = ended_in_the_call(env, bot)
    env.database.execute(LETTER, (job_id,))
    ((payload, version),) = env.database.execute(
        "select payload, payload_version from jobs where id = %s", (job_id,)
    ).fetchall()
    ask_in_channel(env, OTHER)
    pass_time(env.database, timedelta(minutes=30))
    with env.process.database.ledger() as tx:
        again = replays.replay(tx, job_id, by=Origin(), reason="mended", mended=Replacement(payload, version))
    assert env.run(again) == "succeeded"
    assert (len(messages(bot)), len(messages(bot, OTHER))) == (1, 0)


def test_the_channel_is_known_as_long_as_nobody_knows_the_end(env: MailEnvironment, bot: EmulatorControl) -> None:
    """The channel could not be read when it was asked; it is asked again a week later, when the org has another."""
    ended_in_the_call(env, bot)
    bot.order(FaultOrder(operation="channel.*", status=403))
    reconcile(env)
    assert status(env) == "unknown"
    ask_in_channel(env, OTHER)
    reconcile(env, timedelta(days=8))
    assert status(env) == "succeeded"
