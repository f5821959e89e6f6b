"""What is outside a process: the emulators behind taps, kept and brought back, and what was done there."""

import copy
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import Thread
from typing import Any

from sandbox.anthropic.anthropic import anthropic_emulator
from sandbox.anthropic.service import AnthropicService
from sandbox.discord.discord import discord_emulator
from sandbox.emulator.emulator import Emulator
from sandbox.emulator.http_server import EmulatorServer
from sandbox.emulator.journal import Journal
from sandbox.fcm.fcm import FcmControl, fcm_emulator
from sandbox.google.api.service import GmailService
from sandbox.google.control import control_routes
from sandbox.google.mailbox.mailbox import Mailbox
from sandbox.google.mailbox.person import state_of
from sandbox.microsoft.control import MicrosoftControl
from sandbox.microsoft.microsoft import microsoft_emulator
from sandbox.resend.control import ResendControl
from sandbox.resend.resend import resend_emulator
from sandbox.s3.s3 import s3_emulator
from sandbox.s3.service import S3Service, StoredObject
from sandbox.twilio.control import TwilioControl
from sandbox.twilio.twilio import twilio_emulator
from tests.doubles.email_orders import MAILBOX
from tests.doubles.mail_environment import Addresses
from tests.sweep.boundaries import Watch
from tests.sweep.instrumentation import Respond, tap

REPEATABLE = frozenset(
    {
        "labels.create",
        "messages.modify",
        "threads.modify",
        "drafts.delete",
        "watch",
        "stop",
        "oauth.token",
        "webhooks.execute",
        "channel.edit",
        "emails.send",
        "login.token",
        "objects.delete_many",
        "objects.put",
        "fcm messages.send",
    }
)
"""Calls that have the same effect when they are made twice, and alerts, which carry their id.

Every other one may be made once only. `emails.send` has a key: that it made one mail, the state shows. Each attempt's
`objects.put` has an id of its own: which bytes an artifact has, the state shows. Of a push that was sent twice, a
device shows one message, and so does the state."""

PAID = frozenset({"anthropic messages.create"})
"""Nothing changes outside, and each costs money: once, unless the process died before it could keep the answer."""

READS = frozenset({"GET", "HEAD"})
GRAPH_ID = re.compile(r"messages/[^/]+")
"""Graph's ids are by chance, and one changes at the send."""
VOLATILE = frozenset({"history_id", "history_floor", "size", "internal_date", "rfc822_message_id", "raw"})


@dataclass
class Outside:
    """Every provider of the fleet. A process calls the taps; the test looks at the emulators behind them."""

    gmail: Emulator
    service: GmailService
    anthropic: Emulator
    discord: Emulator
    bot: Emulator
    resend: Emulator
    microsoft: Emulator
    twilio: Emulator
    fcm: Emulator
    s3: Emulator
    stack: ExitStack
    watch: Watch | None = None
    _kept: Mapping[str, Mailbox] = field(default_factory=dict)
    _scopes: Mapping[str, str] = field(default_factory=dict)
    _objects: Mapping[str, StoredObject] = field(default_factory=dict)

    def emulators(self) -> dict[str, Emulator]:
        """All of them, by the provider's name as job types declare it."""
        return {
            "gmail": self.gmail,
            "anthropic": self.anthropic,
            "alerts": self.discord,
            "discord": self.bot,
            "resend": self.resend,
            "graph": self.microsoft,
            "twilio": self.twilio,
            "fcm": self.fcm,
            "artifacts": self.s3,
        }

    def addresses(self) -> Addresses:
        """Where the test itself reaches them."""
        return _addresses({name: emulator.url for name, emulator in self.emulators().items()})

    @property
    def bucket(self) -> S3Service:
        """Where artifacts lie."""
        assert isinstance(self.s3.service, S3Service)
        return self.s3.service

    @cached_property
    def tapped(self) -> Addresses:
        """Where a process reaches them."""
        endpoints = {name: self._endpoint(name, emulator.respond) for name, emulator in self.emulators().items()}
        return _addresses(endpoints)

    def reset(self) -> None:
        """As if just started, but for the model's cache: what a dead attempt put there would make the next cheaper."""
        for emulator in self.emulators().values():
            emulator.service.reset()
            emulator.journal.clear()
        assert isinstance(self.anthropic.service, AnthropicService)
        self.anthropic.service.cache.minimum = sys.maxsize

    def keep(self) -> None:
        """Remember what the mailboxes and the bucket hold, and what the mailboxes' owners have consented to."""
        self._objects = dict(self.bucket.objects)
        self._kept = self._copied(self.service.mailboxes)
        self._scopes = {email: self.service.tokens.grant_of(email).scope for email in self._kept}

    def bring_back(self, tokens: Mapping[str, tuple[str, str]]) -> None:
        """Make everything as it was when it was kept; `tokens` are each account's access and refresh token."""
        self.reset()
        for email, (access, refresh) in tokens.items():
            self.service.tokens.grant(email, access, refresh)
            self.service.tokens.grant_of(email).scope = self._scopes[email]
        self.service.mailboxes.update(self._copied(self._kept))
        self.bucket.objects.update(self._objects)

    def calls(self) -> Counter[str]:
        """What was done, by operation and path, however it was answered."""
        return Counter(
            f"{name} {entry.operation} {GRAPH_ID.sub('messages/ID', entry.path)}"
            for name, emulator in self.emulators().items()
            for entry in emulator.journal.entries()
            if entry.method not in READS and entry.status is not None and entry.status < 300
        )

    def state(self) -> dict[str, Any]:
        """What the mailboxes hold, and which mails have left, without what is different each time."""
        held = {email: settled(state_of(mailbox)) for email, mailbox in self.service.mailboxes.items()}
        sent = ResendControl(self.resend.url).emails()
        written = MicrosoftControl(self.microsoft.url).messages(MAILBOX)
        return held | {
            "resend": [(one["to"], one["subject"]) for one in sent],
            "graph": [(one["isDraft"], one["subject"]) for one in written],
            "twilio": [(one["to"], one["body"]) for one in TwilioControl(self.twilio.url).messages()],
            "fcm": [(one["token"], one["notification"]) for one in FcmControl(self.fcm.url).shown()],
        }

    def files(self, digests: Mapping[str, str]) -> list[str]:
        """What lies in the bucket, by what the rows of artifacts say: each place with its digest.

        Bytes of this trial that no row names are left out: nobody can be shown them, and they are swept when they are
        old (docs: artifacts.md#bytes-first).
        """
        lying, before = self.bucket.objects, self._objects
        shown = [f"{place}: as before" for place in before if place in lying and place not in digests]
        for place, digest in digests.items():
            found = "nothing lies there"
            if place in lying:
                is_right = hashlib.sha256(lying[place].data).hexdigest() == digest
                found = "as its row says" if is_right else "other bytes than its row says"
            shown.append(f"{place if place in before else 'made by the job'}: {found}")
        return sorted(shown)

    def _copied(self, mailboxes: Mapping[str, Mailbox]) -> dict[str, Mailbox]:
        shared = [self.service.clock, *(one.lock for one in mailboxes.values())]
        return copy.deepcopy(dict(mailboxes), {id(one): one for one in shared})

    def _endpoint(self, name: str, respond: Respond) -> str:
        server = EmulatorServer(("127.0.0.1", 0), tap(lambda: self.watch, respond, name))
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name=f"tap of {name}")
        thread.start()
        self.stack.callback(thread.join)
        self.stack.callback(server.stop)
        return f"http://127.0.0.1:{server.server_address[1]}"


@contextmanager
def running_outside() -> Iterator[Outside]:
    """Start the emulators and their taps."""
    journal = Journal()
    service = GmailService(journal)
    gmail = Emulator(service, journal, 0, control_routes(service))
    with gmail, anthropic_emulator() as anthropic, discord_emulator() as discord, ExitStack() as stack:
        bot, resend, microsoft = map(stack.enter_context, (discord_emulator(), resend_emulator(), microsoft_emulator()))
        twilio, fcm, s3 = map(stack.enter_context, (twilio_emulator(), fcm_emulator(), s3_emulator()))
        yield Outside(gmail, service, anthropic, discord, bot, resend, microsoft, twilio, fcm, s3, stack)


def _addresses(urls: Mapping[str, str]) -> Addresses:
    return Addresses(
        gmail=urls["gmail"],
        anthropic=urls["anthropic"],
        discord=urls["alerts"],
        bot=urls["discord"],
        resend=urls["resend"],
        microsoft=urls["graph"],
        twilio=urls["twilio"],
        fcm=urls["fcm"],
        s3=urls["artifacts"],
    )


def settled(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """A JSON value without the fields that differ between two runs that did the same."""
    if isinstance(value, dict):
        return {key: settled(one) for key, one in value.items() if key not in VOLATILE}
    return [settled(one) for one in value] if isinstance(value, list) else value
