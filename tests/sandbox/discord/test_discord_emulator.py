"""The Discord emulator refuses what Discord refuses, so that a client that passes on it proves something."""

from collections.abc import Iterator

import httpx2
import pytest

from sandbox.discord.discord import discord_emulator


@pytest.fixture
def url() -> Iterator[str]:
    with discord_emulator() as emulator:
        yield f"{emulator.url}/api/webhooks/1/token"


def test_without_wait_nothing_is_known_of_the_message(url: str) -> None:
    assert (httpx2.post(url, json={"content": "hello"}).status_code) == 204
    assert httpx2.post(url, params={"wait": "true"}, json={"content": "hello"}).json()["id"]


@pytest.mark.parametrize(("content", "code"), [("x" * 2001, 50035), (" ", 50006), (7, 50035)])
def test_what_is_no_message_is_refused(url: str, content: object, code: int) -> None:
    answer = httpx2.post(url, json={"content": content})
    assert (answer.status_code, answer.json()["code"]) == (400, code)


@pytest.mark.parametrize(("allowed", "called"), [({}, True), ({"allowed_mentions": {"parse": []}}, False)])
def test_everyone_is_called_unless_it_is_forbidden(url: str, allowed: dict[str, object], called: bool) -> None:
    answer = httpx2.post(url, params={"wait": "true"}, json={"content": "@everyone", **allowed})
    assert answer.json()["mention_everyone"] is called


def test_the_sixth_call_is_told_how_long_to_wait(url: str) -> None:
    answers = [httpx2.post(url, json={"content": "hello"}) for _ in range(6)]
    assert [one.status_code for one in answers] == [204] * 5 + [429]
    assert 0 < answers[-1].json()["retry_after"] <= 2
    assert answers[-1].headers["retry-after"].isdigit()


def test_another_token_finds_no_webhook(url: str) -> None:
    answer = httpx2.post(url.replace("token", "other"), json={"content": "hello"})
    assert (answer.status_code, answer.json()["code"]) == (404, 10015)
