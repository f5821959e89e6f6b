"""A person is asked on Discord, and the press of a button decides about the action."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from psycopg import Connection

from domain.mail.actions.requested_action import Forward
from domain.mail.actions.status import ActionStatus
from sandbox.anthropic.anthropic import anthropic_emulator
from sandbox.discord.discord import discord_emulator
from sandbox.discord.presses import PUBLIC_KEY, press, signed
from sandbox.emulator.client import EmulatorControl
from sandbox.google.gmail import gmail_emulator
from settings import Settings
from tests.doubles.approvals import APPROVER, ask_in_channel, buttons, messages, waiting
from tests.doubles.mail_actions import look
from tests.doubles.mail_environment import Addresses, MailEnvironment, environment_at
from tests.gateway.serving import ask, serve


@contextmanager
def running(settings: Settings, database: Connection) -> Iterator[tuple[MailEnvironment, EmulatorControl]]:
    with gmail_emulator() as gmail, anthropic_emulator() as anthropic, discord_emulator() as discord:
        addresses = replace(Addresses(gmail.url, anthropic.url), bot=discord.url)
        with environment_at(addresses, addresses.settings(settings), database) as env:
            ask_in_channel(env)
            yield env, EmulatorControl(discord.url)


@pytest.mark.parametrize(
    ("button", "state", "sent"), [("Approve", ActionStatus.DONE, 1), ("Deny", ActionStatus.DENIED, 0)]
)
def test_a_person_is_asked_on_discord_and_the_press_decides(
    settings: Settings, database: Connection, button: str, state: ActionStatus, sent: int
) -> None:
    with running(settings, database) as (env, bot):
        made = waiting(env, Forward(to=("bob@example.org",)))
        env.drain(only="approvals.notify")
        ((message),) = messages(bot)
        with serve(env.process.settings.model_copy(update={"discord_public_key": PUBLIC_KEY})) as url:
            request = signed(press(message, buttons(message)[button], APPROVER))
            answer = ask(f"{url}/webhooks/discord/interactions", request.body, request.headers)
        assert answer.json["type"] == 7
        env.drain()
        assert look(env, made).state is state
        assert sum("SENT" in one["label_ids"] for one in env.mailbox.state().messages) == sent
        assert messages(bot)[0]["components"] == []


def test_the_other_name_of_the_job_type_is_taken(settings: Settings, database: Connection) -> None:
    with running(settings, database) as (env, bot):
        made = waiting(env)
        env.database.execute("delete from jobs where job_type = 'approvals.notify'")
        env.database.execute("delete from idempotency_keys where status = 'pending'")
        env.enqueue("approval.notify", {"approval_id": str(made)})
        assert env.drain(only="approvals.%") == [("approvals.notify", "succeeded")]
        assert len(messages(bot)) == 1
