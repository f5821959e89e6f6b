"""People of an org who are told things: a process of the fleet, the emulators of SMS and push, and what they got."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from psycopg import Connection
from pydantic import SecretStr

from domain.jobs.job import Origin
from domain.notifications.channels import Channel, Choice
from domain.notifications.quiet_hours import quiet_hours
from domain.notifications.reminders import Course, Reminder, ReminderState, Timing
from domain.notifications.template import read_template
from engine.catalogue import catalogue
from engine.relay.due_rows import DueRows
from engine.runtime import Runtime, install
from engine.worker.lease import renew
from sandbox.fcm.fcm import FcmControl, fcm_emulator
from sandbox.fcm.service import PROJECT
from sandbox.resend.control import ResendControl
from sandbox.resend.resend import resend_emulator
from sandbox.twilio.control import TwilioControl
from sandbox.twilio.service import ACCOUNT, TOKEN
from sandbox.twilio.twilio import twilio_emulator
from settings import Settings
from storage.notifications import channel_senders, inbox, notifications, people, reminders, templates
from storage.notifications.notifications import Delivery, NotificationRequest, Notified
from storage.notifications.reminders import WantedReminder
from storage.orgs.access import users
from storage.orgs.access.users import UserChanges
from storage.orgs.secrets import org_secrets
from storage.orgs.secrets.sealing import SecretPlace
from tests.doubles.factories import make_org
from tests.doubles.inline_worker import run_job
from tests.doubles.mail_environment import NOWHERE, Addresses
from tests.servers.published import publish_once

FROM = "+15005550006"
PUBLIC_URL = "https://mail.example.org"
MOST_RUNS = 100
BOOKING: dict[str, Any] = {
    "category": "bookings",
    "subject": "{{ what }} has changed",
    "text": "Hello {{ who }},\n{{ what }} has changed.\n",
    "html": "<p>Hello {{ who }},</p><p>{{ what }} has changed.</p>",
    "sms": "{{ what }} has changed",
    "push": {"title": "{{ what }}", "body": "It has changed"},
    "inbox": {"title": "{{ what }}", "body": "It has changed, {{ who }}"},
    "sample": {"what": "Your stage", "who": "Ada"},
}
DATA = {"what": "Stage 2", "who": "Ada"}


@dataclass
class ToldPeople:
    """An org with one person, who has an address of each kind."""

    process: Runtime
    database: Connection
    twilio: TwilioControl
    fcm: FcmControl
    resend: ResendControl
    org_id: UUID
    user_id: UUID

    def save(self, name: str = "booking", **changes: Any) -> None:  # noqa: ANN401 - fields of a template
        """Save a template."""
        document = {key: value for key, value in (BOOKING | changes).items() if value is not None}
        with self.process.database.ledger() as tx:
            templates.save(tx, self.org_id, name, read_template(document), by="test")

    def add_contact(self, channel: Channel, address: str, *, is_verified: bool = True) -> UUID:
        """Give the person an address."""
        with self.process.database.ledger() as tx:
            made = people.add_contact(tx, self.org_id, self.user_id, channel, address, is_verified=is_verified)
        assert made is not None
        return made.contact_id

    def choose(self, channel: Channel, choice: Choice, category: str = "bookings") -> None:
        """Let the person say what they want."""
        with self.process.database.ledger() as tx:
            people.choose(tx, self.org_id, self.user_id, category, channel, choice)

    def be_quiet(self, begin: timedelta, end: timedelta) -> None:
        """Let it be quiet from one time until another, counted from now; in UTC."""
        now = datetime.now(UTC)
        times = [(now + span).strftime("%H:%M") for span in (begin, end)]
        with self.process.database.ledger() as tx:
            people.set_quiet_hours(tx, self.org_id, self.user_id, quiet_hours(*times))

    def notify(self, name: str = "booking", data: dict[str, Any] | None = None, **more: Any) -> Notified:  # noqa: ANN401 - fields of a request
        """Ask for a notification."""
        request = NotificationRequest(self.user_id, name, DATA if data is None else data, **more)
        with self.process.database.ledger() as tx:
            return notifications.notify(tx, self.org_id, request)

    def run(self, job_id: UUID) -> str:
        """Run one job once."""
        row = self.database.execute("select job_type from jobs where id = %s", (job_id,)).fetchone()
        assert row is not None
        job_type = catalogue.find(row[0])
        assert job_type is not None
        renew(self.process)
        return run_job(self.process, job_type, job_id)

    def run_due(self, only: str = "notifications.%") -> list[tuple[str, str]]:
        """Run what is due, and what follows from it; what is to come later or is behind a gate stays."""
        ends: list[tuple[str, str]] = []
        kept_back: list[UUID] = []
        for _ in range(MOST_RUNS):
            row = self.database.execute(
                "select id, job_type from jobs where state = 'queued' and job_type like %s and run_at <= now()"
                " and id <> all (%s) order by run_at, id limit 1",
                (only, kept_back),
            ).fetchone()
            if row is None:
                return ends
            ends.append((row[1], self.run(row[0])))
            if ends[-1][1] == "not_claimed":
                kept_back.append(row[0])
        raise AssertionError(f"the jobs do not come to rest: {ends[-10:]}")

    def hurry(self) -> None:
        """Let the time of every job come."""
        self.database.execute("update jobs set run_at = now() where state = 'queued' and run_at > now()")

    def tell(self, **more: Any) -> list[Delivery]:  # noqa: ANN401 - fields of a request
        """Ask for a notification and run what is due; what became of it."""
        asked = self.notify(**more)
        assert asked.notification_id is not None, asked.refusal
        self.run_due()
        return self.deliveries(asked.notification_id)

    def deliveries(self, notification_id: UUID) -> list[Delivery]:
        """What became of a notification."""
        with self.process.database.ledger() as tx:
            return list(notifications.deliveries(tx, self.org_id, notification_id))

    def remind(self, due_in: timedelta = timedelta(seconds=-1), **timing: Any) -> UUID:  # noqa: ANN401 - fields of a timing
        """Add a reminder of the person."""
        return add_reminder(self.process, self.org_id, self.user_id, due_in, **timing)

    def reminder(self, reminder_id: UUID) -> Reminder:
        """How a reminder stands."""
        with self.process.database.ledger() as tx:
            found = reminders.find(tx, reminder_id)
        assert found is not None
        return found

    def let_ring(self) -> list[dict[str, Any]]:
        """Fire the reminders that are due, and run their jobs; returns the jobs' outputs."""
        DueRows(self.process, reminders).turn()
        self.run_due("reminders.deliver")
        self.run_due()
        query = "select output from jobs where job_type = 'reminders.deliver' and state = 'succeeded' order by id"
        return [row[0] for row in self.database.execute(query)]

    def inbox(self) -> list[str]:
        """The titles of the inbox, the newest first."""
        with self.process.database.ledger() as tx:
            return [one.title for one in inbox.after(tx, self.org_id, self.user_id, 0, limit=1000)][::-1]

    def texts(self) -> list[str]:
        """The bodies of the text messages that were sent."""
        return [str(one["body"]) for one in self.twilio.messages()]


def states(deliveries: list[Delivery]) -> dict[str, str]:
    """Where each channel stands."""
    return {one.channel.value: one.state.value for one in deliveries}


@contextmanager
def told_people(settings: Settings, database: Connection) -> Iterator[ToldPeople]:
    """Start the emulators, make an org that can send text messages and pushes, and take the place of a worker."""
    with twilio_emulator() as twilio, fcm_emulator() as fcm, resend_emulator() as resend:
        addresses = Addresses(NOWHERE, NOWHERE, resend=resend.url, twilio=twilio.url, fcm=fcm.url)
        # The windows of rates pass by the clock on the wall, which no test moves.
        changes = {"public_url": PUBLIC_URL, "rate_limits": {"resend.team": 10_000}}
        here = addresses.settings(settings).model_copy(update=changes)
        process = Runtime(here, jitter=lambda: 0.0)
        install(process)
        try:
            publish_once()
            renew(process)
            org_id = make_org(database, "The Example Org")
            with process.database.ledger() as tx:
                user_id = users.add(tx, org_id, "ada@example.org", UserChanges()).user_id
            controls = TwilioControl(twilio.url), FcmControl(fcm.url), ResendControl(resend.url)
            made = ToldPeople(process, database, *controls, org_id, user_id)
            give_senders(process, org_id, made.fcm.service_account())
            made.save()
            yield made
        finally:
            install(None)
            process.close()


def add_reminder(
    process: Runtime,
    org_id: UUID,
    user_id: UUID,
    due_in: timedelta,
    *,
    zone: str = "UTC",
    rule: str | None = None,
    **repeats: int,
) -> UUID:
    """Add a reminder whose first due time is so far from now, before now as well."""
    due_at = (datetime.now(UTC) + due_in).replace(microsecond=0)
    timing = Timing(due_at.astimezone(ZoneInfo(zone)).replace(tzinfo=None), zone, rule, **repeats)
    course = Course(ReminderState.PENDING, due_at, timing.next_after(due_at))
    with process.database.ledger() as tx:
        made = reminders.add(tx, org_id, user_id, WantedReminder("Call the garage", None, timing), course, by="test")
    return made.reminder_id


def give_senders(process: Runtime, org_id: UUID, key_file: str) -> None:
    """Let the org send by Twilio and FCM."""
    secrets = {"twilio": json.dumps({"account_sid": ACCOUNT, "auth_token": TOKEN}), "fcm": key_file}
    with process.database.ledger() as tx:
        for name, value in secrets.items():
            org_secrets.keep(tx, process.sealer, SecretPlace(org_id, name), SecretStr(value), by=Origin())
        channel_senders.choose(tx, org_id, Channel.SMS, from_name=FROM, secret="twilio", by="test")
        channel_senders.choose(tx, org_id, Channel.PUSH, from_name=PROJECT, secret="fcm", by="test")
