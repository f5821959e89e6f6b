"""The demo's stage in one process: the emulators, the gateway, and a worker that runs what is queued."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from psycopg import Connection
from pydantic import SecretStr

from domain.access.api_keys import NOISE, Role, make_key
from domain.access.users import UserRole
from domain.agents.profile import parse_profile
from domain.email.sender import EmailProvider
from domain.jobs.gate_causes import Cause
from domain.jobs.job import Origin
from engine.relay.due_schedules import DueReminders
from sandbox.anthropic.anthropic import anthropic_emulator
from sandbox.demo.doors import HttpDoor
from sandbox.demo.evidence import Ledger, Outside, read_ledger, read_outside
from sandbox.demo.predictions import Played, find_endings, find_steps
from sandbox.demo.report import Outcome
from sandbox.demo.set_up import AGENT, PROFILE, RULES
from sandbox.demo.steps.agent import LABEL
from sandbox.demo.steps.approval import APPROVER, CHANNEL
from sandbox.demo.steps.step import Stage, Step
from sandbox.discord.discord import discord_emulator
from sandbox.discord.presses import PUBLIC_KEY
from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.control import MessagePlace
from sandbox.google.gmail import gmail_emulator
from sandbox.resend.control import ResendControl
from sandbox.resend.resend import resend_emulator
from settings import Settings
from storage.access import api_keys, users
from storage.access.api_keys import KeyOptions
from storage.access.users import UserChanges
from storage.accounts import accounts
from storage.agents import profiles
from storage.doubts import approvals
from storage.ledger import gates
from tests.doubles.email_orders import set_sender
from tests.doubles.mail_environment import Addresses, MailEnvironment, connect, environment_at
from tests.gateway.serving import serve

MOST_LOOKS = 12
BY = Origin(actor_id="a test")


@dataclass
class StoryEnvironment:
    """A mailbox with an agent, rules, a channel on Discord and an open door, and the stage for steps."""

    env: MailEnvironment
    discord: EmulatorControl
    resend: ResendControl
    door: HttpDoor
    places: dict[str, MessagePlace] = field(default_factory=dict)
    played: list[Played] = field(default_factory=list)

    def stage(self) -> Stage:
        """What steps play with."""
        return Stage(
            self.env.mailbox,
            self.env.gmail,
            self.env.model,
            self.discord,
            self.door,
            str(self.env.account.account_id),
            self.wait,
            lambda: self.wait(lambda _ledger: ""),
            self.receive,
            self.connect,
            self.places,
        )

    def connect(self, access: str, refresh: str) -> None:
        """Consent again, as `accounts add` does it: the gate of the lost consent opens."""
        account = connect(self.env.process, self.env.mailbox.email, access, refresh)
        with self.env.process.database.ledger() as tx:
            gates.open_gate(tx, "account", str(account.account_id), Cause.CONSENT)

    def receive(self, name: str, raw: bytes) -> MessagePlace:
        """Let a message arrive."""
        self.places[name] = self.env.mailbox.deliver(raw)
        return self.places[name]

    def wait(self, missing: Callable[[Ledger], str]) -> Ledger:
        """Sync and run what is queued until nothing is missing."""
        said = ""
        for _ in range(MOST_LOOKS):
            self.turn()
            ledger = read_ledger(self.env.database)
            if not (said := missing(ledger)):
                return ledger
        raise AssertionError(f"still missing: {said}")

    def turn(self) -> None:
        """Sync, fire the reminders that are due, and run what is queued."""
        DueReminders(self.env.process).turn()
        self.env.sync()

    def play(self, step: Step) -> Outcome:
        """Play a step until it has its end, predicted or not."""
        self.played.append(Played(step, step.play(self.stage())))
        for _ in range(MOST_LOOKS):
            self.turn()
            if (outcome := self.outcomes()[-1]).holds:
                break
        return outcome

    def outcomes(self) -> list[Outcome]:
        """The ends of all steps so far."""
        return find_steps(self.played, (), self.places, self.evidence())

    def endings(self, predicted: dict[str, str]) -> list[Outcome]:
        """The ends of the messages so far."""
        return find_endings({name: predicted[name] for name in self.places}, self.places, self.evidence())

    def evidence(self) -> tuple[Ledger, Outside]:
        """All that is counted from."""
        outside = read_outside(self.env.mailbox, self.env.gmail, self.env.model, self.discord, self.resend)
        return read_ledger(self.env.database), outside


@contextmanager
def running_story(settings: Settings, database: Connection) -> Iterator[StoryEnvironment]:
    """Start emulators and gateway, and set everything up as the demo's operator does."""
    with (
        gmail_emulator() as gmail,
        anthropic_emulator() as model,
        discord_emulator() as discord,
        resend_emulator() as resend,
    ):
        addresses = Addresses(gmail.url, model.url, bot=discord.url, resend=resend.url)
        here = addresses.settings(settings).model_copy(update={"discord_public_key": PUBLIC_KEY})
        with environment_at(addresses, here, database) as env, serve(here) as url:
            story = StoryEnvironment(
                env, EmulatorControl(discord.url), ResendControl(resend.url), HttpDoor(url, _make_key(env))
            )
            _set_up(story)
            yield story


def _make_key(env: MailEnvironment) -> str:
    key = make_key(os.urandom(NOISE))
    with env.process.database.ledger() as tx:
        api_keys.create(tx, env.account.org_id, key, KeyOptions("demo", Role.WRITER, None), by=BY)
    return SecretStr(key.text).get_secret_value()


def _set_up(story: StoryEnvironment) -> None:
    env = story.env
    env.make_label(LABEL)
    env.enqueue("gmail.sync_labels")
    env.drain()
    org, account = env.account.org_id, env.account.account_id
    with env.process.database.ledger() as tx:
        accounts.save_settings(tx, account, {"agent_enabled": True, "send_allowed": True})
        profiles.add(tx, org, parse_profile(PROFILE | {"name": AGENT}), by=BY)
        approvals.choose_channel(tx, org, CHANNEL)
        users.change(tx, org, env.mailbox.email, UserChanges(UserRole.OWNER, APPROVER))
    set_sender(env.process, org, EmailProvider.RESEND)
    story.door.post(f"/v1/rules?account_id={account}", {"rules": list(RULES)})
