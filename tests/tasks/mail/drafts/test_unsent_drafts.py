"""A draft that its person leaves costs less and less, and what becomes of it is found all the same."""

from domain.mail.correspondence import EmailState
from sandbox.emulator.control import MessagePlace
from tests.doubles.mail_environment import MailEnvironment
from tests.tasks.mail.drafts.reworks import drafted

LOOK = ("threads.cleanup", "succeeded")


def looks(env: MailEnvironment, hours: int) -> list[int]:
    """After how many hours a full sync looked whether the draft is still there."""
    return [hour for hour in range(1, hours + 1) if LOOK in env.hour_later()]


def discard(env: MailEnvironment, place: MessagePlace) -> None:
    draft_id = env.email(place.thread_id).draft_id
    assert draft_id is not None
    env.mailbox.discard_draft(draft_id)


def test_the_schedule_looks_at_growing_ages(env: MailEnvironment) -> None:
    place = drafted(env)
    assert looks(env, 50) == [1, 2, 4, 8, 16, 24, 48]
    assert env.state(place.thread_id) is EmailState.DRAFTED


def test_the_schedule_looks_for_thirty_days(env: MailEnvironment) -> None:
    drafted(env)
    env.database.execute("update emails set state_changed_at = now() - interval '30 days 23 hours 30 minutes'")
    assert looks(env, 1) == []
    assert LOOK in env.sync(force_full=True)


def test_a_draft_that_was_thrown_away_is_found_by_history_at_once(env: MailEnvironment) -> None:
    place = drafted(env)
    looks(env, 5)
    discard(env, place)
    env.sync()
    assert env.state(place.thread_id) is EmailState.SKIPPED


def test_a_draft_that_was_thrown_away_while_history_expired_is_found_at_once(env: MailEnvironment) -> None:
    place = drafted(env)
    looks(env, 5)
    discard(env, place)
    env.mailbox.expire_history()
    env.sync()
    assert env.state(place.thread_id) is EmailState.SKIPPED


def test_a_draft_that_was_thrown_away_just_before_a_full_sync_is_found_after_it(
    env: MailEnvironment,
) -> None:
    place = drafted(env)
    looks(env, 5)
    discard(env, place)
    env.hour_later()
    env.sync()
    assert env.state(place.thread_id) is EmailState.SKIPPED
