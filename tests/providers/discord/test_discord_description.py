"""Every request to Discord is as Discord describes it, whatever mail, people and alerts say."""

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.discord.messages import NOBODY, SUPPRESS_EMBEDS, body_of, ended_content, outcome_document
from providers.discord.webhook import content_of
from providers.ports import Notice
from sandbox.discord import channels
from tests.providers.discord.description import BUTTON, EDIT, MESSAGE, ROW, WEBHOOK, problems_of
from tests.providers.discord.test_discord_messages import MAIL, QUESTIONS

ANY_TEXT = st.text(max_size=5_000)
GOOD: dict[str, Any] = {
    "content": "x",
    "nonce": "n" * 25,
    "enforce_nonce": True,
    "allowed_mentions": {"parse": []},
    "components": [{"type": 1, "components": [{"type": 2, "style": 3, "label": "Yes", "custom_id": "a"}]}],
}
BUTTON_GOOD: dict[str, Any] = GOOD["components"][0]["components"][0]


@given(question=QUESTIONS)
def test_a_question_is_as_described(question: Any) -> None:  # noqa: ANN401 - drawn
    assert problems_of(json.loads(body_of(question))) == []


@given(question=QUESTIONS, words=st.one_of(MAIL, ANY_TEXT))
def test_an_outcome_is_as_described(question: Any, words: str) -> None:  # noqa: ANN401 - drawn
    assert problems_of(outcome_document(ended_content(question, words)), EDIT) == []


@given(title=ANY_TEXT, text=ANY_TEXT, notice_id=st.uuids())
def test_an_alert_is_as_described(title: str, text: str, notice_id: UUID) -> None:
    content = content_of(Notice(notice_id, "x", title, text, {}))
    assert problems_of({"content": content, "allowed_mentions": NOBODY, "flags": SUPPRESS_EMBEDS}, WEBHOOK) == []


def with_button(**changes: object) -> dict[str, Any]:
    return {"components": [{"type": 1, "components": [BUTTON_GOOD | changes]}]}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"content": ""}, "content: is shorter than 1"),
        ({"content": "x" * 2_001}, "content: is longer than 2000"),
        ({"content": 7}, "content: is of another type"),
        ({"nonce": "n" * 26}, "nonce: is longer than 25"),
        ({"nonce": True}, "nonce: is of another type"),
        ({"tone": 1}, "tone: is not known"),
        ({"allowed_mentions": {"parse": [], "all": 1}}, "allowed_mentions.all: is not known"),
        ({"components": [{"type": 2}]}, "components.0.type: is none of (1,)"),
        ({"components": [{"type": 1, "components": []}]}, "components.0.components: is shorter than 1"),
        ({"components": [{"type": 1, "components": [BUTTON_GOOD] * 6}]}, "components.0.components: is longer than 5"),
        ({"components": [{"type": 1, "components": [BUTTON_GOOD] * 2}]}, "components: a custom_id is there twice"),
        (with_button(custom_id="x" * 101), "components.0.components.0.custom_id: is longer than 100"),
        (with_button(label="x" * 81), "components.0.components.0.label: is longer than 80"),
        (with_button(style=5), "components.0.components.0.style: is none of (1, 2, 3, 4)"),
    ],
)
def test_what_discord_would_refuse_is_seen(changes: dict[str, Any], problem: str) -> None:
    assert problems_of(GOOD) == []
    assert problem in problems_of(GOOD | changes)


def test_the_emulator_holds_us_to_the_same_limits() -> None:
    assert MESSAGE["content"].most == channels.LONGEST_CONTENT
    assert MESSAGE["nonce"].most == channels.LONGEST_NONCE
    assert BUTTON["custom_id"].most == channels.LONGEST_CUSTOM_ID
    assert BUTTON["label"].most == channels.LONGEST_LABEL
    assert ROW["components"].most == channels.MOST_BUTTONS
    assert BUTTON["style"].one_of == channels.STYLES
