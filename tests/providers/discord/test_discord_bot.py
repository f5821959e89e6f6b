"""The bot on the emulator: one message per question, found again after a lost answer, and what refusals mean."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from pydantic import SecretStr

from domain.approvals.question import Fact, Question
from domain.jobs.effects import CannotTell, Found, NotFound
from domain.jobs.failures import CallState, Failure, Gone, Permanent, Scope, Throttled, Transient
from providers.discord.bot import MOST_PAGES, PAGE, DiscordBot, id_at
from providers.ports.approvals import Outcome
from sandbox.discord.discord import discord_emulator
from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.fault_order import FaultOrder
from tests.doubles.approvals import messages
from tests.doubles.factories import unmetered
from tests.providers.wire import Wire, hang, reply

QUESTION = Question(UUID(int=7), 0, "Forward waits", (Fact("Subject", "Lunch?"),), datetime(2026, 12, 1, tzinfo=UTC))
HERE = "111"


@pytest.fixture
def control() -> Iterator[EmulatorControl]:
    with discord_emulator() as emulator:
        yield EmulatorControl(emulator.url)


def bot(url: str, *, token: str = "bot-token", timeout_s: float = 5) -> DiscordBot:  # noqa: S107 - the emulator's
    return DiscordBot(SecretStr(token), api_url=f"{url}/api/v10", timeout_s=timeout_s, meter=unmetered)


def failed(url: str, **options: object) -> Failure:
    with bot(url, **options) as channel, pytest.raises(Failure) as raised:  # type: ignore[arg-type]  # by name
        channel.post_question(HERE, QUESTION)
    assert "token" not in str(raised.value).replace("bot's token", "")
    assert raised.value.__cause__ is raised.value.__context__ is None
    return raised.value


def test_a_question_is_one_message_with_two_buttons_however_often_it_is_posted(control: EmulatorControl) -> None:
    with bot(control.url) as channel:
        first, again = channel.post_question(HERE, QUESTION), channel.post_question(HERE, QUESTION)
    ((message),) = messages(control)
    assert first == again == message["id"]
    assert message["mention_everyone"] is False


def test_when_the_nonce_is_forgotten_a_repeat_is_a_second_message(control: EmulatorControl) -> None:
    with bot(control.url) as channel:
        channel.post_question(HERE, QUESTION)
        control.post("/_control/clock", {"advance_s": 600})
        channel.post_question(HERE, QUESTION)
    assert len(messages(control)) == 2


def test_a_question_is_found_by_its_buttons(control: EmulatorControl) -> None:
    since = datetime.now(UTC)
    control.post("/_control/write", {"channel": HERE, "content": "hello"})
    with bot(control.url) as channel:
        assert channel.find_question(HERE, QUESTION, since=since, repeat_at=since) == NotFound()
        made = channel.post_question(HERE, QUESTION)
        found = channel.find_question(HERE, QUESTION, since=since, repeat_at=since + timedelta(hours=1))
        assert found == Found({"message_id": made, "channel_id": HERE})


def test_a_channel_that_shows_nothing_proves_nothing_once_the_nonce_is_forgotten(control: EmulatorControl) -> None:
    control.post("/_control/close", {"without_history": [HERE]})
    since = datetime.now(UTC)
    with bot(control.url) as channel:
        channel.post_question(HERE, QUESTION)
        assert channel.find_question(HERE, QUESTION, since=since, repeat_at=since + timedelta(minutes=1)) == NotFound()
        later = channel.find_question(HERE, QUESTION, since=since, repeat_at=since + timedelta(minutes=3))
    assert isinstance(later, CannotTell)


def test_a_quiet_channel_with_older_messages_proves_that_nothing_was_posted(control: EmulatorControl) -> None:
    control.post("/_control/write", {"channel": HERE, "content": "an older question"})
    since = datetime.now(UTC) + timedelta(hours=1)
    with bot(control.url) as channel:
        found = channel.find_question(HERE, QUESTION, since=since, repeat_at=since + timedelta(minutes=20))
    assert found == NotFound()


def test_in_a_channel_that_was_deleted_there_is_no_question(control: EmulatorControl) -> None:
    now = datetime.now(UTC)
    with bot(control.url) as channel:
        channel.post_question(HERE, QUESTION)
        control.post("/_control/close", {"deleted": [HERE]})
        assert channel.find_question(HERE, QUESTION, since=now, repeat_at=None) == NotFound()


def test_a_404_that_is_not_discords_word_for_it_proves_nothing() -> None:
    now = datetime.now(UTC)
    with Wire(reply(404, b"<html>")) as wire, bot(wire.url) as channel, pytest.raises(Gone) as raised:
        channel.find_question(HERE, QUESTION, since=now, repeat_at=now)
    assert raised.value.code == "discord.not_found"


def test_where_nothing_is_repeated_the_nonce_excuses_nothing(control: EmulatorControl) -> None:
    control.post("/_control/close", {"without_history": [HERE]})
    with bot(control.url) as channel:
        found = channel.find_question(HERE, QUESTION, since=datetime.now(UTC), repeat_at=None)
    assert isinstance(found, CannotTell)


def test_a_message_of_another_channel_is_no_post() -> None:
    with Wire(reply(200, {"id": "7", "channel_id": "222"})) as wire:
        failure = failed(wire.url)
    assert (type(failure), failure.call_state) == (Transient, CallState.NOT_DONE)


def test_a_channel_with_too_many_messages_proves_nothing() -> None:
    page = [{"id": str(number), "components": []} for number in range(1, PAGE + 1)]
    now = datetime.now(UTC)
    with Wire(*[reply(200, page)] * MOST_PAGES) as wire, bot(wire.url) as channel:
        assert isinstance(channel.find_question(HERE, QUESTION, since=now, repeat_at=now), CannotTell)
        assert len(wire.seen) == MOST_PAGES


def test_the_outcome_takes_the_place_of_the_buttons(control: EmulatorControl) -> None:
    with bot(control.url) as channel:
        made = channel.post_question(HERE, QUESTION)
        channel.show_outcome(HERE, made, Outcome(QUESTION, "Denied by *anna*"))
        with pytest.raises(Gone) as raised:
            channel.show_outcome(HERE, "1", Outcome(QUESTION, "Denied"))
    ((message),) = messages(control)
    assert message["components"] == []
    assert r"Denied by \*anna\*" in message["content"]
    assert raised.value.code == "discord.message_gone"


def test_a_lost_answer_leaves_doubt(control: EmulatorControl) -> None:
    control.order(FaultOrder(operation="channel.post", drop="after"))
    failure = failed(control.url)
    assert (type(failure), failure.call_state) == (Transient, CallState.IN_DOUBT)
    assert len(messages(control)) == 1


def test_a_full_window_is_not_called_into(control: EmulatorControl) -> None:
    with bot(control.url) as channel:
        for _ in range(5):
            channel.post_question(HERE, QUESTION)
        with pytest.raises(Throttled) as raised:
            channel.post_question(HERE, QUESTION)
        channel.post_question("222", QUESTION)
    assert timedelta(0) < raised.value.retry_after <= timedelta(seconds=5)
    assert (raised.value.scope, raised.value.provider) == (Scope.ORG, "discord")
    assert sum(call.operation == "channel.post" for call in control.journal()) == 6


def test_a_refused_token_parks_the_bot(control: EmulatorControl) -> None:
    failure = failed(control.url, token="another")
    assert isinstance(failure, Throttled)
    assert (failure.scope, failure.code) == (Scope.PROVIDER, "discord.unauthorised")


def test_a_closed_or_deleted_channel_is_not_called_again(control: EmulatorControl) -> None:
    control.post("/_control/close", {"forbidden": [HERE]})
    failure = failed(control.url)
    assert (type(failure), failure.code) == (Permanent, "discord.http_403")
    control.post("/_control/close", {"deleted": [HERE]})
    failure = failed(control.url)
    assert (type(failure), failure.code) == (Gone, "discord.channel_gone")


@pytest.mark.parametrize("body", [{}, b"<html>"])
def test_an_answer_that_cannot_be_read_leaves_doubt(body: object) -> None:
    with Wire(reply(200, body)) as wire:
        failure = failed(wire.url)
    assert (type(failure), failure.code, failure.call_state) == (Transient, "discord.unreadable", CallState.IN_DOUBT)


def test_a_call_ends_with_its_time() -> None:
    with Wire(hang) as wire:
        failure = failed(wire.url, timeout_s=0.3)
    assert (type(failure), failure.code, failure.call_state) == (Transient, "discord.timeout", CallState.IN_DOUBT)


def test_ids_grow_with_time() -> None:
    assert id_at(datetime(2015, 1, 1, tzinfo=UTC)) == 0
    assert id_at(datetime(2014, 1, 1, tzinfo=UTC)) == 0
    assert id_at(datetime(2026, 1, 1, tzinfo=UTC)) > id_at(datetime(2025, 12, 31, tzinfo=UTC)) > 0
