"""Prepares notifications to people of the environment's org, and reminders."""

from datetime import timedelta
from uuid import UUID

from domain.jobs.job import SYSTEM_ORG
from domain.notifications.channels import Channel, Choice
from domain.notifications.sender import EmailProvider
from domain.notifications.template import read_template
from engine.relay.due_rows import DueRows
from sandbox.fcm.service import service_account
from storage.notifications import notifications, people, reminders, templates
from storage.notifications.notifications import NotificationRequest
from tests.doubles.email_orders import set_sender
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.told_people import BOOKING, DATA, add_reminder, give_senders
from tests.sweep.prepared.places import Prepare, enqueue, queued

ADDRESSES = {Channel.SMS: "+4930123456", Channel.PUSH: "device-1"}


def _ask(env: MailEnvironment, *channels: Channel, bucket: str = "") -> None:
    """Ask for a notification to the mailbox's owner, who has an address of each kind."""
    org_id, user_id = env.account.org_id, env.account.user_id
    request = NotificationRequest(user_id, "booking", DATA, bucket, channels)
    with env.process.database.ledger() as tx:
        if templates.find(tx, org_id, "booking") is None:
            # A digest closes within the time that a trial lets pass for its recovery.
            templates.save(tx, org_id, "booking", read_template(BOOKING | {"digest_every_s": 60}), by="test")
        assert notifications.notify(tx, org_id, request).created


def _set_up(env: MailEnvironment) -> None:
    org_id, user_id = env.account.org_id, env.account.user_id
    set_sender(env.process, org_id, EmailProvider.RESEND)
    give_senders(env.process, org_id, service_account())
    with env.process.database.ledger() as tx:
        for channel, address in ADDRESSES.items():
            people.add_contact(tx, org_id, user_id, channel, address, is_verified=True)


def asked_for(env: MailEnvironment) -> UUID:
    """A notification that goes out by three channels, is shown by one, and is collected by none."""
    _set_up(env)
    _ask(env, *Channel)
    return queued(env, "notifications.deliver")


def asked_for_in_digest(env: MailEnvironment) -> UUID:
    """A notification that opens a digest. One that joins an open digest may find it closed after a recovery."""
    _set_up(env)
    with env.process.database.ledger() as tx:
        people.choose(tx, env.account.org_id, env.account.user_id, "bookings", Channel.SMS, Choice.DIGEST)
    _ask(env, Channel.SMS)
    return queued(env, "notifications.deliver")


def digest_of(items: int) -> Prepare:
    """A digest of so many items whose time has come."""

    def prepare(env: MailEnvironment) -> UUID:
        _set_up(env)
        with env.process.database.ledger() as tx:
            people.choose(tx, env.account.org_id, env.account.user_id, "bookings", Channel.SMS, Choice.DIGEST)
        for number in range(items):
            _ask(env, Channel.SMS, bucket=str(number))
            env.run(queued(env, "notifications.deliver"))
        env.database.execute("update jobs set run_at = now() where job_type = 'notifications.close_digest'")
        return queued(env, "notifications.close_digest")

    return prepare


def to_be_sent_by(channel: Channel, provider: EmailProvider = EmailProvider.RESEND) -> Prepare:
    """A message of this channel that was planned; e-mail of the org leaves by this provider."""

    def prepare(env: MailEnvironment) -> UUID:
        _set_up(env)
        set_sender(env.process, env.account.org_id, provider)
        _ask(env, channel)
        env.run(queued(env, "notifications.deliver"))
        return queued(env, f"notifications.send_{channel.value}")

    return prepare


def old_notifications(env: MailEnvironment) -> UUID:
    """One notification is past its time, one is not."""
    for bucket in ("old", "new"):
        _ask(env, Channel.INBOX, bucket=bucket)
        env.run(queued(env, "notifications.deliver"))
    env.database.execute("update notifications set asked_at = now() - %s where bucket = 'old'", (timedelta(days=91),))
    return enqueue(env, "maintenance.purge_expired_keys", {}, SYSTEM_ORG)


def due_reminder(rule: str | None) -> Prepare:
    """A reminder that the relay has fired."""

    def prepare(env: MailEnvironment) -> UUID:
        add_reminder(env.process, env.account.org_id, env.account.user_id, timedelta(minutes=-1), rule=rule)
        DueRows(env.process, reminders).turn()
        return queued(env, "reminders.deliver")

    return prepare


def old_reminders(env: MailEnvironment) -> UUID:
    """One reminder has been over for long, one is yet to come."""
    for _ in range(2):
        made = add_reminder(env.process, env.account.org_id, env.account.user_id, timedelta(days=1))
    env.database.execute(
        "update reminders set state = 'sent', due_at = null, changed_at = now() - %s where id = %s",
        (timedelta(days=91), made),
    )
    return enqueue(env, "maintenance.purge_expired_keys", {}, SYSTEM_ORG)
