"""Alerts through Discord's webhooks, on the emulator: one message each, no mention, and what its refusals mean."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest

from domain.jobs.failures import CallState, Failure, Permanent, Scope, Throttled, Transient
from providers.discord.messages import LONGEST_CONTENT
from providers.discord.webhook import DiscordWebhook, content_of, waiting
from providers.ports import Notice
from sandbox.discord.discord import discord_emulator
from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.fault_order import FaultOrder
from tests.doubles.factories import unmetered
from tests.providers.wire import Wire, hang, trickle

NOTICE = Notice(UUID(int=7), "dead_letter", "A job of type gmail.sync died", "Code: invalid.", {})
PATH = "/api/webhooks/1/token"


@pytest.fixture
def control() -> Iterator[EmulatorControl]:
    with discord_emulator() as emulator:
        yield EmulatorControl(emulator.url)


def webhook(url: str, timeout_s: float = 5) -> DiscordWebhook:
    return DiscordWebhook(url, timeout_s=timeout_s, meter=unmetered)


def failed(url: str, timeout_s: float = 5) -> Failure:
    with webhook(url, timeout_s) as channel, pytest.raises(Failure) as raised:
        channel.send(NOTICE)
    assert url not in str(raised.value)
    assert raised.value.__cause__ is raised.value.__context__ is None
    return raised.value


def messages(control: EmulatorControl) -> list[dict[str, object]]:
    found: list[dict[str, object]] = control.get("/_control/messages")["messages"]
    return found


def test_a_notice_becomes_one_message_whose_id_is_known(control: EmulatorControl) -> None:
    with webhook(control.url + PATH) as channel:
        message_id = channel.send(NOTICE)
    ((message),) = messages(control)
    assert message["id"] == message_id
    assert all(words in str(message["content"]) for words in (NOTICE.title, NOTICE.text, str(NOTICE.notice_id)))


def test_a_name_is_shown_as_it_is_and_makes_no_link() -> None:
    content = content_of(Notice(UUID(int=7), "dead_letter", "[safe](https://evil.test)", "`code` **bold**", {}))
    assert r"\[safe\]\(https://evil.test\)" in content
    assert r"\`code\` \*\*bold\*\*" in content


def test_nobody_is_mentioned_whatever_a_job_type_is_called(control: EmulatorControl) -> None:
    with webhook(control.url + PATH) as channel:
        channel.send(Notice(UUID(int=8), "dead_letter", "@everyone", "@here", {}))
    assert messages(control)[0]["mention_everyone"] is False


def test_a_long_notice_is_cut_and_keeps_its_id(control: EmulatorControl) -> None:
    with webhook(control.url + PATH) as channel:
        channel.send(Notice(UUID(int=9), "dead_letter", "title", "long " * 1000, {}))
    content = str(messages(control)[0]["content"])
    assert len(content) == LONGEST_CONTENT
    assert content.endswith(f"`{UUID(int=9)}`")


def test_the_sixth_call_within_two_seconds_waits_for_the_fraction_it_is_told(control: EmulatorControl) -> None:
    with webhook(control.url + PATH) as channel:
        with pytest.raises(Throttled) as raised:
            for _ in range(6):
                channel.send(NOTICE)
        assert timedelta(0) < raised.value.retry_after <= timedelta(seconds=2)
        assert (raised.value.scope, raised.value.provider) == (Scope.PROVIDER, "alerts")
        control.post("/_control/clock", {"advance_s": 2})
        channel.send(NOTICE)


def test_a_webhook_that_is_gone_is_not_called_again(control: EmulatorControl) -> None:
    failure = failed(control.url + "/api/webhooks/1/other")
    assert (type(failure), failure.code) == (Permanent, "alerts.gone")


def test_a_dropped_answer_leaves_doubt(control: EmulatorControl) -> None:
    control.order(FaultOrder(operation="webhooks.execute", drop="after"))
    failure = failed(control.url + PATH)
    assert (type(failure), failure.call_state) == (Transient, CallState.IN_DOUBT)


@pytest.mark.parametrize("conduct", [hang, trickle(0.05)])
def test_a_call_ends_with_its_time_however_slow_the_answer(conduct: object) -> None:
    with Wire(conduct) as wire:  # type: ignore[arg-type]  # the conducts of the module
        failure = failed(wire.url + PATH, timeout_s=0.3)
    assert (type(failure), failure.code) == (Transient, "alerts.timeout")


def test_the_address_asks_discord_to_wait_and_keeps_its_thread() -> None:
    assert waiting("https://discord.test/w?thread_id=5&wait=false") == "https://discord.test/w?thread_id=5&wait=true"
