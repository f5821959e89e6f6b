"""One Gmail mailbox as pure state: messages, threads, labels and the history of every change."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from email.message import Message
from random import Random
from threading import RLock

from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import ApiFailure, Json
from sandbox.google.mailbox.history import ChangeKind, History
from sandbox.google.mailbox.labels import LabelBook
from sandbox.google.mailbox.rfc822 import header_of, headers_of, own_id, plain_subject, referenced_ids

FIRST_HISTORY_ID = 999_000
"""Just below a power of ten, so that code which compares ids as text fails within a few changes."""


@dataclass(slots=True)
class MailMessage:
    """A message in a mailbox. Raw bytes never change; an edit makes another message."""

    message_id: str
    thread_id: str
    raw: bytes
    label_ids: set[str]
    internal_date: int
    """Milliseconds since the epoch."""
    sequence: int
    headers: Message
    history_id: int = 0
    ghost: bool = False
    """A draft or sent mail that names a thread without its headers: visible in the API, not in the user interface."""
    hidden_gets: int = 0
    hidden_searches: int = 0

    def facts(self) -> Json:
        """Id, thread and labels, as history and many answers carry them."""
        return {"id": self.message_id, "threadId": self.thread_id, "labelIds": sorted(self.label_ids)}


@dataclass(frozen=True, slots=True)
class Lag:
    """How many reads of each kind miss a new message before it is visible."""

    gets: int = 0
    history: int = 0
    searches: int = 0


@dataclass(slots=True)
class Knobs:
    """Settings of a mailbox for tests and the demo."""

    search_lag: int = 0
    """How many searches miss a message that the mailbox itself made (drafts, sent mail)."""
    sent_wrapper_gets: int = 0
    """How often `drafts.get` of a sent draft still answers, with a wrapper around the sent message."""
    quota_per_minute: int | None = 6_000
    quota_status: int = 403
    """403 rateLimitExceeded, or 429 with the time in the text."""
    concurrency: int | None = 20
    history_forgets_labels: int = 0
    """1: history says no labels of messages that are gone."""
    trash_keeps_inbox: bool = False
    """Whether a message in the trash still carries INBOX."""
    untrash_gives_inbox: bool = False
    """Whether a message that leaves the trash comes back to the inbox."""
    largest_message: int = 35 * 1024 * 1024
    largest_json: int = 5 * 1024 * 1024
    """Bytes of a message inside JSON; a larger one must be uploaded."""
    inline_files_below: int = 0
    """Files smaller than this come with `messages.get` itself, without an `attachmentId`."""
    sent_lag_gets: int = 0
    """How many reads by id miss a mail that was just sent."""
    sends_per_day: int | None = 2_000
    """How many mails may leave in 24 hours, whoever sends them."""
    largest_page: int = 500
    """Of a search and of history; Gmail may give fewer than it is asked for."""
    forgotten_pages: int = 0
    """So many tokens of later pages of searches are refused from their next use on, as Gmail does with old ones."""


@dataclass(slots=True)
class Draft:
    """A draft: the id stays, the message behind it changes with each edit."""

    draft_id: str
    message_id: str


@dataclass(slots=True)
class Mailbox:
    """One account. Hold `lock` around every use; no method blocks."""

    email: str
    clock: EmulatorClock
    random: Random
    history: History
    aliases: dict[str, str] = field(default_factory=dict)
    """Other addresses it may write from, each with its verification status."""
    send_as: dict[str, Json] = field(default_factory=dict)
    """More facts of an address in `settings.sendAs.list`, such as displayName, replyToAddress or isDefault."""
    sent_at: list[float] = field(default_factory=list)
    """When mail left, for the daily limit."""
    labels: LabelBook = field(default_factory=LabelBook)
    knobs: Knobs = field(default_factory=Knobs)
    messages: dict[str, MailMessage] = field(default_factory=dict)
    drafts: dict[str, Draft] = field(default_factory=dict)
    sent_wrappers: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Draft id -> the sent message's id and how often the wrapper is still shown."""
    watchers: list[Callable[[int, frozenset[str]], None]] = field(default_factory=list)
    """Called after each change with the history id and the labels concerned."""
    lock: RLock = field(default_factory=RLock)
    sequence: int = 0
    searches: int = 0
    forgotten_tokens: set[str] = field(default_factory=set)

    def new_id(self) -> str:
        """A message id: 16 hexadecimal digits."""
        return f"{self.random.getrandbits(60) | 1 << 60:016x}"

    def message(self, message_id: str) -> MailMessage:
        """A message by id, or 404."""
        try:
            return self.messages[message_id]
        except KeyError:
            raise ApiFailure(404, "notFound", "Requested entity was not found.") from None

    def look_up(self, message_id: str) -> MailMessage:
        """A message as the API sees it: 404 while it lags behind."""
        message = self.message(message_id)
        if message.hidden_gets > 0:
            message.hidden_gets -= 1
            raise ApiFailure(404, "notFound", "Requested entity was not found.")
        return message

    def remember_page(self, token: str) -> None:
        """Refuse the token of a later page of a search with 400 when it is forgotten, or is to be from now on."""
        if token and self.knobs.forgotten_pages > 0 and token not in self.forgotten_tokens:
            self.knobs.forgotten_pages -= 1
            self.forgotten_tokens.add(token)
        if token in self.forgotten_tokens:
            raise ApiFailure(400, "invalidArgument", "Invalid pageToken")

    def thread(self, thread_id: str) -> list[MailMessage]:
        """The messages of a thread, oldest first."""
        found = [message for message in self.messages.values() if message.thread_id == thread_id]
        return sorted(found, key=lambda message: (message.internal_date, message.sequence))

    def insert(  # a message has that many independent facts
        self,
        raw: bytes,
        label_ids: Iterable[str],
        *,
        thread_id: str | None,
        internal_date: int | None = None,
        lag: Lag | None = None,
        ghost: bool = False,
    ) -> MailMessage:
        """Add a message; without a thread id it starts a thread."""
        lag = lag or Lag(searches=self.knobs.search_lag)
        self.sequence += 1
        message_id = self.new_id()
        date = int(self.clock.now() * 1000) if internal_date is None else internal_date
        headers = headers_of(raw)
        message = MailMessage(
            message_id, thread_id or message_id, raw, set(label_ids), date, self.sequence, headers, ghost=ghost
        )
        message.hidden_gets, message.hidden_searches = lag.gets, lag.searches
        self.messages[message_id] = message
        self.record("messagesAdded", message, message.label_ids, hidden=lag.history)
        return message

    def deliver(
        self,
        raw: bytes,
        label_ids: Iterable[str] = ("INBOX", "UNREAD"),
        thread_id: str | None = None,
        internal_date: int | None = None,
        lag: Lag | None = None,
    ) -> MailMessage:
        """Receive a mail; it joins the thread that its headers and subject name."""
        thread_id = thread_id or self.thread_for(headers_of(raw))
        return self.insert(raw, label_ids, thread_id=thread_id, internal_date=internal_date, lag=lag or Lag())

    def thread_for(self, headers: Message) -> str | None:
        """The thread that a message's references and subject point to."""
        wanted = set(referenced_ids(headers))
        for message in self.messages.values():
            if own_id(message.headers) in wanted and self._same_subject(message, headers):
                return message.thread_id
        return None

    def belongs(self, headers: Message, thread_id: str) -> bool:
        """Whether headers and subject place a message in a thread; if not, its draft is a ghost."""
        wanted = set(referenced_ids(headers))
        return any(
            own_id(message.headers) in wanted and self._same_subject(message, headers)
            for message in self.thread(thread_id)
        )

    @staticmethod
    def _same_subject(message: MailMessage, headers: Message) -> bool:
        return plain_subject(header_of(message.headers, "Subject")) == plain_subject(header_of(headers, "Subject"))

    def remove(self, message: MailMessage) -> None:
        """Delete a message permanently."""
        del self.messages[message.message_id]
        if self.knobs.history_forgets_labels:
            self.history.forget_labels(message.message_id)
        self.record("messagesDeleted", message, message.label_ids)

    def relabel(self, message: MailMessage, add: Collection[str], remove: Collection[str]) -> None:
        """Change labels; what changes nothing leaves no history."""
        added = set(add) - message.label_ids
        removed = (set(remove) & message.label_ids) - set(add)
        message.label_ids |= added
        message.label_ids -= removed
        if added:
            self.record("labelsAdded", message, added)
        if removed:
            self.record("labelsRemoved", message, removed)

    def record(self, kind: ChangeKind, message: MailMessage, label_ids: Collection[str], hidden: int = 0) -> None:
        """Write history and tell the watchers."""
        named = label_ids if kind in ("labelsAdded", "labelsRemoved") else ()
        message.history_id = self.history.add(kind, message.facts(), named, hidden).history_id
        for watcher in self.watchers:
            watcher(message.history_id, frozenset(label_ids) | message.label_ids)

    def is_draft(self, message: MailMessage) -> bool:
        """Whether the message is the one behind a draft."""
        return "DRAFT" in message.label_ids

    def draft_of(self, message_id: str) -> Draft | None:
        """The draft whose message it is."""
        return next((draft for draft in self.drafts.values() if draft.message_id == message_id), None)

    def owns(self, address: str) -> bool:
        """Whether mail may be written from an address: the account's own, or an accepted alias."""
        return address == self.email.lower() or self.aliases.get(address) == "accepted"


def open_mailbox(email: str, clock: EmulatorClock, seed: int, first_history_id: int | None) -> Mailbox:
    """An empty mailbox whose ids are random but the same for the same seed and address."""
    random = Random(f"{seed}:{email}")  # noqa: S311  # repeatable ids, no secret
    start = FIRST_HISTORY_ID if first_history_id is None else first_history_id
    return Mailbox(email, clock, random, History(start, random))
