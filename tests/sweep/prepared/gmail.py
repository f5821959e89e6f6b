"""Prepares jobs of the Gmail and triage families."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from tests.doubles.factories import pass_time
from tests.doubles.mail_environment import OWNER, MailEnvironment, letter
from tests.sweep.prepared.drafts import given_up
from tests.sweep.prepared.places import QUESTION, asked, drafted, queued


def history_with_news(env: MailEnvironment) -> UUID:
    """Two new letters, a thread that its person is done with, and a draft that its person has sent."""
    place = drafted(env)
    finished = env.deliver("Old news", "Nothing to do here.")
    env.sync()
    env.deliver("Dinner?", QUESTION)
    env.deliver("Breakfast?", QUESTION)
    env.mailbox.label_thread(finished.thread_id, add=(env.label("Done"),))
    env.mailbox.send_draft(env.email(place.thread_id).draft_id or "")
    return env.enqueue("gmail.sync")


def whole_mailbox(env: MailEnvironment) -> UUID:
    """A mailbox that was never synced, with letters in it."""
    env.deliver("Lunch?", QUESTION)
    env.deliver("News", "Nothing to do here.")
    return env.enqueue("gmail.sync", {"force_full": True})


def unseen_letter(env: MailEnvironment) -> UUID:
    """A letter that history has reported."""
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    return env.enqueue("gmail.ingest", {"message_id": place.message_id, "thread_id": place.thread_id})


def stale_token(env: MailEnvironment) -> UUID:
    """An access token that is about to run out, so that the job refreshes it first."""
    env.database.execute("update accounts set access_expires_at = now() + interval '1 minute'")
    return env.enqueue("gmail.renew_watch")


def no_labels(env: MailEnvironment) -> UUID:
    """A mailbox that has none of our labels."""
    return env.enqueue("gmail.sync_labels")


def older_mail(env: MailEnvironment, letters: int = 5) -> UUID:
    """Letters of long ago, in a mailbox whose searches have pages of two; the first page is to be read."""
    env.sync()
    env.mailbox.turn(largest_page=2)
    at = int((datetime.now(UTC) - timedelta(days=100)).timestamp() * 1000)
    for number in range(letters):
        env.deliver(f"Letter {number}", QUESTION, internal_date=at + number)
    return env.enqueue("gmail.backfill", {"classify": False})


def page_between(env: MailEnvironment) -> UUID:
    """A backfill that has read its first page, and has two to read."""
    job_id = older_mail(env)
    env.run(job_id)
    env.drain(only="gmail.backfill_messages")
    pass_time(env.database, timedelta(minutes=30))
    return job_id


def last_page(env: MailEnvironment) -> UUID:
    """A backfill whose last page is to be read."""
    job_id = page_between(env)
    env.run(job_id)
    env.drain(only="gmail.backfill_messages")
    pass_time(env.database, timedelta(minutes=30))
    return job_id


def forgotten_page(env: MailEnvironment) -> UUID:
    """A backfill whose page token Gmail has forgotten: the search begins anew, and one attempt reads all pages.

    The first two name what is stored by now, so nothing has to be waited for before the last.
    """
    job_id = last_page(env)
    env.mailbox.turn(forgotten_pages=1)
    return job_id


def batch_of_older_mail(env: MailEnvironment) -> UUID:
    """Two letters of long ago that are to be fetched."""
    env.run(older_mail(env, letters=3))
    return queued(env, "gmail.backfill_messages")


def unclassified(env: MailEnvironment) -> UUID:
    """A stored question."""
    asked(env)
    return queued(env, "triage.classify")


def unsure(env: MailEnvironment) -> UUID:
    """A stored question of which the cheaper model is not sure enough, so that a better one is asked."""
    two = {"classify_first_model": "claude-haiku-5-5", "classify_model": "claude-sonnet-5-5", "classify_sure_from": 1.0}
    env.process.settings = env.process.settings.model_copy(update=two)
    return unclassified(env)


def reopened(env: MailEnvironment) -> UUID:
    """A new question in a thread that was put to rest with our draft still there, which has to go first."""
    place = given_up(env)
    env.deliver("Lunch?", QUESTION.replace("Friday", "Monday"), thread_id=place.thread_id)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    return queued(env, "triage.classify")


def new_mailbox(env: MailEnvironment) -> UUID:
    """A mailbox that was just connected: no labels, no watch."""
    return env.enqueue("accounts.onboard")


def owner_with_sent_mail(env: MailEnvironment) -> UUID:
    """An owner who has written enough to know how they write."""
    for number in range(3):
        raw = letter(f"Re: lunch {number}", f"Noon works, see you at {number}.", From=OWNER, To="anna@example.com")
        env.mailbox.deliver(raw, label_ids=("SENT",))
    return env.enqueue("accounts.learn_voice")


def connected_again(env: MailEnvironment) -> UUID:
    """A mailbox whose labels are known from before."""
    env.enqueue("gmail.sync_labels")
    env.drain(only="gmail.sync_labels")
    return env.enqueue("accounts.onboard")


def known_owner(env: MailEnvironment) -> UUID:
    """The same in a mailbox that was synced."""
    env.sync()
    return owner_with_sent_mail(env)
