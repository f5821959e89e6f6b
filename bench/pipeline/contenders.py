"""Ours and the peers in the pipeline: each gets to know the mailboxes, and then the messages to work on."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol
from uuid import UUID

import psycopg
from pydantic import SecretStr

from bench.contenders.contender import ROOT, Runnable, Setting
from bench.contenders.ours import TEMPLATE, Ours
from bench.contenders.peer import Kind, Peer
from bench.measured_job import VARIABLE
from bench.pipeline.mailboxes import Arrived, Box, Mailboxes
from bench.run_folder import RunFolder
from bench.stores import RUN_DATABASE, Stores, bulk_sql
from domain.mail.correspondence import LabelRole
from domain.payloads.gmail import IngestPayload, SyncLabelsPayload, SyncPayload
from engine import enqueue
from engine.app import publish_catalogue
from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.waiting import wait_until
from storage.mail.accounts import accounts
from storage.mail.accounts.accounts import Consent

AMPLE = 10**9
"""Of a provider's units and requests: no limit holds the pipeline back."""
AMPLE_BUDGET = 10**15
"""Microcents a day: no org runs out of money."""
READY_S = 120.0
"""How long a peer's client may take to connect, and to enqueue."""
CONSENT_FOR = timedelta(hours=2)
"""Longer than a round, so that no access token is refreshed."""


@dataclass(frozen=True)
class Work:
    """What a contender's tables say of the messages; `waiting` is what it has still to do."""

    stored: int
    classified: int
    drafted: int
    waiting: int

    def is_over(self, messages: int) -> bool:
        """Whether this many messages are stored, and nothing waits."""
        return self.stored >= messages and self.waiting == 0


class PipelineContender(Runnable, Protocol):
    """Ours, or a peer."""

    settings: tuple[Setting, ...]
    work_query: str
    """Returns one row: the fields of `Work`."""

    def connect(self, boxes: Sequence[Box]) -> None:
        """Make empty stores that know these mailboxes."""

    def ready(self, messages: Sequence[Arrived]) -> Callable[[], object]:
        """Make the ingestion of these messages ready; the call that is returned hands it over to the workers."""


class OurPipeline:
    """Postroom's own families on its fleet, with rate limits and budgets that do not bind."""

    work_query = (
        "select (select count(*) from messages), (select count(distinct gmail_message_id) from decisions),"
        " (select count(*) from emails where state = 'drafted'), (select count(*) from jobs where finished_at is null)"
    )

    def __init__(self, ours: Ours, stores: Stores, mailboxes: Mailboxes, settings: tuple[Setting, ...]) -> None:
        """Use the prepared database of the other contests."""
        self.name = ours.name
        self.settings = settings
        self._ours, self._stores, self._mailboxes = ours, stores, mailboxes
        self._account_ids: list[UUID] = []

    def environment(self) -> Mapping[str, str]:
        """What its workers need beside their stores: the providers."""
        limits = {"gmail.user": AMPLE, "gmail.project": AMPLE, "anthropic.requests": AMPLE}
        return {
            **self._ours.environment(),
            "POSTROOM_GOOGLE_URL": self._mailboxes.gmail_url,
            "POSTROOM_GOOGLE_CLIENT_ID": "local",
            "POSTROOM_GOOGLE_CLIENT_SECRET": "local",
            "POSTROOM_ANTHROPIC_BASE_URL": self._mailboxes.anthropic_url,
            "POSTROOM_ANTHROPIC_API_KEY": "local",
            "POSTROOM_RATE_LIMITS": json.dumps(limits),
            "POSTROOM_DAILY_BUDGET_MICROCENTS": str(AMPLE_BUDGET),
        }

    def interpreter(self) -> Path:
        """The Python interpreter of this process."""
        return self._ours.interpreter()

    def connect(self, boxes: Sequence[Box]) -> None:
        """Connect the mailboxes, and have their labels read first of all."""
        self._stores.make_database(RUN_DATABASE, TEMPLATE)
        until = datetime.now(UTC) + CONSENT_FOR
        with self._ours.empty() as runtime:
            publish_catalogue()
            with runtime.database.ledger() as tx:
                self._account_ids = []
                for box in boxes:
                    account_id, _ = accounts.open_account(tx, self._ours.org, box.email, box.email)
                    consent = Consent(SecretStr(box.access_token), SecretStr(f"refresh of {box.email}"), until)
                    accounts.connect(tx, runtime.sealer, account_id, consent)
                    self._account_ids.append(account_id)
            enqueue.enqueue_many(
                SyncLabelsPayload(account_id=account_id).job(org_id=self._ours.org) for account_id in self._account_ids
            )
        self._stores.vacuum()

    def ready(self, messages: Sequence[Arrived]) -> Callable[[], object]:
        """Enqueue in bulk, as a sync of each mailbox does."""
        jobs = [
            IngestPayload(account_id=self._account_ids[one.box], message_id=one.message_id).job(org_id=self._ours.org)
            for one in messages
        ]

        def hand_over() -> None:
            with self._ours.runtime():
                enqueue.enqueue_many(jobs)

        return hand_over

    def poll(self) -> None:
        """Look for changes in every mailbox, as the fallback sync does."""
        syncs = [SyncPayload(account_id=account_id, reason="fallback") for account_id in self._account_ids]
        with self._ours.runtime():
            enqueue.enqueue_many([sync.job(org_id=self._ours.org) for sync in syncs])


class PeerPipeline(Peer):
    """The same handlers written for a peer, which keeps its jobs in the broker or in PostgreSQL."""

    def __init__(self, kind: Kind, python: Path, stores: Stores, mailboxes: Mailboxes, folder: Path) -> None:
        """`folder` gets the list of messages that its program enqueues."""
        super().__init__(kind, python, stores)
        self.settings = kind.drain
        self.work_query = (
            "select count(*), count(d.message_id), count(a.draft_id), "  # noqa: S608  # of our own texts
            "count(*) filter (where d.message_id is null or d.wants_draft and a.draft_id is null) "
            f"+ ({kind.unfinished or 'select 0'}) "
            "from mail m left join decisions d using (box_id, message_id) left join drafts a using (box_id, message_id)"
        )
        self._mailboxes = mailboxes
        self._folder = folder
        self._list = folder / "messages.json"
        self._box_ids: list[str] = []

    def environment(self) -> Mapping[str, str]:
        """What its programs need beside its stores: the providers, and the list of messages."""
        return {
            **super().environment(),
            "BENCH_GMAIL_URL": self._mailboxes.gmail_url,
            "BENCH_ANTHROPIC_URL": self._mailboxes.anthropic_url,
            "BENCH_MESSAGES": str(self._list),
        }

    def connect(self, boxes: Sequence[Box]) -> None:
        """Make its tables, with a row for each mailbox."""
        self._stores.make_database(RUN_DATABASE)
        if self.kind.durable:
            self._call("install")
        else:
            self._stores.empty_broker()
        with psycopg.connect(self._stores.database_url(), autocommit=True) as owner:
            owner.execute(bulk_sql("plain_mail"))
            self._box_ids = [self._add(owner, box) for box in boxes]
        self._stores.vacuum()

    def ready(self, messages: Sequence[Arrived]) -> Callable[[], object]:
        """Enqueue by its own program: of a durable peer where its workers see it, of others a backlog to copy."""
        self._list.write_text(json.dumps([[self._box_ids[one.box], one.message_id] for one in messages]))
        words = ("fill", "mail", str(len(messages)))
        if self.kind.durable:
            return self._connected(*words)
        self._call(*words, broker=self._stores.backlog_url(self.name))
        return lambda: self._stores.restore_backlog(self.name)

    def _connected(self, *words: str) -> Callable[[], object]:
        """Start a program that connects and waits; the call that is returned lets it go on and waits for its end."""
        barrier, log = RunFolder(self._folder / "hand_over"), self._folder / f"{self.name}.log"
        environment = {**self.environment(), VARIABLE: str(barrier.folder)}
        client = ChildProcess(Command(self.command(*words), environment, ROOT), log=log)
        client.start()
        try:
            wait_until(lambda: barrier.ready() or not client.running, within=READY_S, describe=f"its client: {log}")
        except TimeoutError:
            client.stop()  # or it would go on at the barrier of another
            raise

        def hand_over() -> None:
            barrier.release_start_barrier()
            client.wait(within=READY_S)
            if client.exit_status:
                raise RuntimeError(f"{self.name} did not enqueue: {log}")

        return hand_over

    @staticmethod
    def _add(owner: "psycopg.Connection[tuple[object, ...]]", box: Box) -> str:
        row = owner.execute(
            "insert into boxes (email, access_token, needs_response, outbox) values (%s, %s, %s, %s) returning id",
            (
                box.email,
                box.access_token,
                box.label_ids[LabelRole.NEEDS_RESPONSE],
                box.label_ids[LabelRole.OUTBOX],
            ),
        ).fetchone()
        if row is None:
            raise LookupError(box.email)
        return str(row[0])


def check_same_work(done: Mapping[str, tuple[Work, Mapping[str, int]]]) -> None:
    """Raise `RuntimeError` unless all have stored, classified and drafted the same and made the same calls."""
    if len({(astuple(work), tuple(sorted(calls.items()))) for work, calls in done.values()}) > 1:
        described = "; ".join(f"{name}: {work} {dict(calls)}" for name, (work, calls) in done.items())
        raise RuntimeError(f"the contenders did not do the same work: {described}")
