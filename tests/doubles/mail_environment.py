"""What tests of mail jobs need: an org, a mailbox in the emulator, a scripted model, a process of the fleet."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from typing import Any
from uuid import UUID

from psycopg import Connection
from pydantic import SecretStr

from domain.jobs.job import NewJob
from domain.mail.correspondence import EmailState
from engine.catalogue import catalogue
from engine.runtime import Runtime, install
from engine.worker.lease import renew
from providers.google.gmail import GmailMailbox
from sandbox.anthropic.anthropic import anthropic_emulator
from sandbox.emulator.control import EmulatorControl, FaultOrder, GmailAccount, GmailControl, MessagePlace
from sandbox.google.gmail import gmail_emulator
from settings import Settings
from storage.jobs import ledger, payload_names
from storage.mail import emails
from storage.mail.accounts import accounts
from storage.mail.accounts.accounts import Account, Consent
from tests.doubles.factories import pass_time, unmetered
from tests.doubles.inline_worker import run_job
from tests.doubles.mail_factories import connect_account
from tests.doubles.stored_artifacts import bucket_url
from tests.servers.published import publish_once

OWNER = "owner@postroom.example"
MOST_ROUNDS = 400
RENEW_AFTER_S = 10
"""Above what a test takes on an idle machine, so that counted transactions stay the same there."""

TIMES_OF_MAIL = (
    ("messages", "received_at"),
    ("accounts", "full_synced_at"),
    ("emails", "state_changed_at"),
    ("emails", "draft_planned_at"),
)
"""What `pass_time` leaves, and a full sync reads."""


@dataclass
class MailEnvironment:
    """Everything a test of a job needs to act and to look."""

    process: Runtime
    database: Connection
    gmail: GmailControl
    mailbox: GmailAccount
    model: EmulatorControl
    account: Account

    def enqueue(self, job_type: str, payload: dict[str, Any] | None = None) -> UUID:
        """Enqueue a job for the environment's account, as a service would; nobody publishes its hint."""
        document = {"account_id": str(self.account.account_id)} | (payload or {})
        with self.process.database.ledger() as tx:
            job = payload_names.resolve_job(tx, NewJob(job_type, self.account.org_id, document))
            (made,) = ledger.enqueue(tx, [job], publisher=False, hint_timeout=self.process.hint_timeout)
        return made.job_id

    def run(self, job_id: UUID) -> str:
        """Run one job once."""
        row = self.database.execute("select job_type from jobs where id = %s", (job_id,)).fetchone()
        assert row is not None
        job_type = catalogue.find(row[0])
        assert job_type is not None
        self._keep_lease()
        return run_job(self.process, job_type, job_id)

    def _keep_lease(self) -> None:
        """Renew the process's lease as its keeper would: a loaded machine takes longer than the lease to import."""
        if time.monotonic() - self.process.lease.renewed_at > RENEW_AFTER_S:
            renew(self.process)

    def drain(self, *, only: str = "%") -> list[tuple[str, str]]:
        """Run what is queued, snoozed and retried jobs too, until nothing is left; returns (type, end) of each run.

        A job that cannot be claimed is looked at again when time has passed; what is behind a gate for good stays.
        """
        ends: list[tuple[str, str]] = []
        refused: set[UUID] = set()
        for _ in range(MOST_ROUNDS):
            row = self.database.execute(
                "select id, job_type, run_at - now() from jobs where state = 'queued' and job_type like %s"
                " and id <> all (%s) order by run_at, id limit 1",
                (only, list(refused)),
            ).fetchone()
            if row is None:
                return ends
            if row[2] > timedelta(0):
                pass_time(self.database, row[2])
                refused.clear()
            ends.append((row[1], self.run(row[0])))
            if ends[-1][1] == "not_claimed":
                refused.add(row[0])
        raise AssertionError(f"the jobs do not come to rest: {ends[-10:]}")

    def job(self, job_id: UUID) -> dict[str, Any]:
        """A job as the ledger shows it."""
        row = self.database.execute("select to_jsonb(j) from jobs j where id = %s", (job_id,)).fetchone()
        assert row is not None
        found: dict[str, Any] = row[0]
        return found

    def sync(self, **payload: Any) -> list[tuple[str, str]]:  # noqa: ANN401 - fields of the sync's payload
        """Sync the mailbox and run all that follows."""
        self.enqueue("gmail.sync", payload)
        return self.drain()

    def pass_hour(self) -> None:
        """Let an hour pass, also for what is stored of the mailbox."""
        pass_time(self.database, timedelta(hours=1))
        for table, column in TIMES_OF_MAIL:
            self.database.execute(f"update {table} set {column} = {column} - interval '1 hour'")

    def hour_later(self) -> list[tuple[str, str]]:
        """Let an hour pass, and run the full sync of the schedule and all that follows."""
        self.pass_hour()
        return self.sync(force_full=True, reason="full")

    def deliver(self, subject: str, text: str, **options: Any) -> MessagePlace:  # noqa: ANN401 - as the emulator takes them
        """Let a person write to the owner."""
        return self.mailbox.deliver(letter(subject, text, **options.pop("headers", {})), **options)

    def email(self, thread_id: str) -> emails.Email:
        """The record of a thread, which must have one."""
        with self.process.database.ledger() as tx:
            found = emails.get(tx, self.account.account_id, thread_id)
        assert found is not None
        return found

    def state(self, thread_id: str) -> EmailState:
        """Where a thread's record stands."""
        return self.email(thread_id).state

    def cursor(self) -> int | None:
        """How far history was read."""
        with self.process.database.ledger() as tx:
            return accounts.get(tx, self.account.account_id).history_id

    def label(self, role: str) -> str:
        """The id of one of our labels, made by its person if nobody has made it; the jobs know it afterwards."""
        name = f"Postroom/{role}"
        made = next((one["id"] for one in self.mailbox.state().labels if one["name"] == name), None)
        made = made or self.make_label(name)
        self.enqueue("gmail.sync_labels")
        self.drain(only="gmail.sync_labels")
        return str(made)

    def make_label(self, name: str) -> str:
        """Make a label as the mailbox's person; returns its id."""
        with GmailMailbox(
            account=OWNER, access_token="access-1", timeout_s=10, meter=unmetered, endpoint=self.gmail.url
        ) as mailbox:
            return mailbox.create_label(name).label_id

    def fail(self, operation: str, **order: Any) -> None:  # noqa: ANN401 - fields of an order
        """Let a call to Gmail go wrong, once unless said otherwise."""
        self.gmail.order(FaultOrder(operation=operation, **order))

    def say(self, **answer: Any) -> None:  # noqa: ANN401 - as the emulator takes it
        """Let the model say this the next time it is asked."""
        self.model.order(FaultOrder(operation="messages.create", answer=answer))

    def garble(self, message_id: str) -> None:
        """Let Gmail answer with nonsense whenever this message is fetched."""
        self.fail("messages.get", path=message_id, times=None, status=200, body={"nonsense": True})

    def count(self, sql: str, *values: object) -> int:
        """A number from the database."""
        row = self.database.execute(sql, values).fetchone()
        assert row is not None
        return int(row[0])


def taken_in(env: MailEnvironment) -> set[str]:
    """The messages that were stored."""
    return {row[0] for row in env.database.execute("select gmail_message_id from messages")}


def letter(subject: str, text: str, **headers: str) -> bytes:
    """A letter from a person to the owner."""
    message = EmailMessage()
    message["From"] = headers.pop("From", "Anna Example <anna@example.com>")
    message["To"] = headers.pop("To", OWNER)
    message["Subject"] = subject
    message["Date"] = datetime.now(UTC)
    message["Message-ID"] = headers.pop("Message-ID", f"<{abs(hash((subject, text)))}@example.com>")
    for name, value in headers.items():
        message[name] = value
    message.set_content(text)
    return message.as_bytes()


NOWHERE = "http://127.0.0.1:9"
"""Nobody listens there (RFC 863): a test that did not start an emulator calls no provider."""


@dataclass(frozen=True)
class Addresses:
    """Where the providers' emulators listen."""

    gmail: str
    anthropic: str
    discord: str = ""
    """Empty: alerts go nowhere."""
    bot: str = ""
    """Where Discord's bot API is; empty: nobody is asked for approval there."""
    resend: str = NOWHERE
    microsoft: str = NOWHERE
    twilio: str = NOWHERE
    fcm: str = NOWHERE
    s3: str = ""
    """Empty: artifacts lie in the folder that the settings name."""

    def settings(self, settings: Settings) -> Settings:
        """The same settings, with these in the place of the real providers."""
        artifacts_url = bucket_url(self.s3) if self.s3 else settings.artifacts_url
        return settings.model_copy(
            update={
                "artifacts_url": artifacts_url,
                "google_url": self.gmail,
                "google_client_id": "client",
                "google_client_secret": SecretStr("client-secret"),
                "anthropic_base_url": self.anthropic,
                "anthropic_api_key": SecretStr("key"),
                "resend_api_url": self.resend,
                "graph_api_url": f"{self.microsoft}/v1.0",
                "microsoft_login_url": self.microsoft,
                "twilio_api_url": self.twilio,
                "fcm_api_url": self.fcm,
                "fcm_token_url": f"{self.fcm}/token",
                "discord_api_url": f"{self.bot}/api/v10",
                "discord_bot_token": SecretStr("bot-token" if self.bot else ""),
                "alert_format": "discord",
                "alert_url": SecretStr(f"{self.discord}/api/webhooks/1/token" if self.discord else ""),
            }
        )


@contextmanager
def running_environment(settings: Settings, database: Connection) -> Iterator[MailEnvironment]:
    """Start the emulators, connect the owner's mailbox, and take the place of a worker process."""
    with gmail_emulator() as gmail, anthropic_emulator() as anthropic:
        addresses = Addresses(gmail.url, anthropic.url)
        with environment_at(addresses, addresses.settings(settings), database) as env:
            yield env


@contextmanager
def environment_at(addresses: Addresses, settings: Settings, database: Connection) -> Iterator[MailEnvironment]:
    """An environment on running emulators: at `addresses` for the test, and for its process where settings say."""
    control = GmailControl(addresses.gmail)
    mailbox = control.create_account(OWNER, "access-1", "refresh-1")
    process = Runtime(settings, jitter=lambda: 0.0)
    install(process)
    try:
        publish_once()
        renew(process)
        account = connect(process, OWNER, "access-1", "refresh-1")
        yield MailEnvironment(process, database, control, mailbox, EmulatorControl(addresses.anthropic), account)
    finally:
        install(None)
        process.close()


def connect(process: Runtime, email: str, access: str, refresh: str) -> Account:
    """Consent as a mailbox's owner, for an hour; again for the same mailbox is re-consent."""
    consent = Consent(SecretStr(access), SecretStr(refresh), datetime.now(UTC) + timedelta(hours=1))
    with process.database.ledger() as tx:
        return connect_account(tx, process.sealer, "The Example Org", email, consent)
