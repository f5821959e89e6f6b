"""Questions as messages: within the limits of Discord's API, and never obeyed, whatever a mail says."""

import json
import re
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.approvals.decision import Choice
from domain.approvals.question import Fact, Question, one_line
from providers.discord.messages import (
    LONGEST_CONTENT,
    LONGEST_CUSTOM_ID,
    LONGEST_NONCE,
    Press,
    body_of,
    code,
    content_of,
    custom_id_of,
    ended_content,
    is_question,
    nonce_of,
    plain,
    read_custom_id,
)

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
MAIL = st.text(max_size=400).map(one_line)
QUESTIONS = st.builds(
    Question,
    approval_id=st.uuids(),
    number=st.sampled_from([0, 1]),
    title=st.just("Forward waits for approval"),
    facts=st.lists(st.builds(Fact, name=MAIL, value=MAIL), max_size=8).map(tuple),
    expires_at=st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - bounds
)
PRESSES = st.builds(Press, st.sampled_from(Choice), st.uuids(), st.sampled_from([0, 1]))


@given(QUESTIONS)
def test_every_request_is_within_discords_limits(question: Question) -> None:
    request = json.loads(body_of(question))
    assert 0 < len(request["content"]) <= LONGEST_CONTENT
    assert len(request["nonce"]) <= LONGEST_NONCE
    assert request["enforce_nonce"] is True
    assert request["allowed_mentions"] == {"parse": []}
    (row,) = request["components"]
    assert row["type"] == 1
    assert [(one["type"], one["label"]) for one in row["components"]] == [(2, "Approve"), (2, "Deny")]
    assert all(len(one["custom_id"]) <= LONGEST_CUSTOM_ID for one in row["components"])
    assert is_question({"components": request["components"]}, question)


@given(QUESTIONS)
def test_each_attempt_sends_the_same_bytes(question: Question) -> None:
    assert body_of(question) == body_of(question)


@given(st.uuids(), st.uuids())
def test_the_nonce_tells_questions_and_their_reminders_apart(one: UUID, other: UUID) -> None:
    made = [nonce_of(Question(each, number, "t", (), NOON)) for each in {one, other} for number in (0, 1)]
    assert len(set(made)) == len(made)


@given(PRESSES)
def test_a_press_is_read_as_it_was_written(press: Press) -> None:
    assert read_custom_id(custom_id_of(press)) == press


@given(st.text(max_size=120))
def test_no_other_text_is_a_press(text: str) -> None:
    read = read_custom_id(text)
    assert read is None or custom_id_of(read) == text


@pytest.mark.parametrize(
    "text",
    [
        "", "postroom:approve", f"postroom:approve:{UUID(int=1)}:2", f"postroom:execute:{UUID(int=1)}:0",
        f"other:approve:{UUID(int=1)}:0", f"postroom:approve:{UUID(int=1).hex}:0", f"postroom:approve:{UUID(int=1)}:0:",
        "x" * 1000,
    ],
)  # fmt: skip
def test_what_is_no_press_is_none(text: str) -> None:
    assert read_custom_id(text) is None


@given(st.text(max_size=400))
def test_nothing_gets_out_of_a_code_span(text: str) -> None:
    shown = code(one_line(text))
    assert shown.startswith("`")
    assert shown.endswith("`")
    assert shown.count("`") == 2
    assert "\n" not in shown


@given(st.text(max_size=400))
def test_no_word_of_a_person_is_markup_mention_or_link(text: str) -> None:
    shown = plain(one_line(text))
    assert re.search(r"(?<!\\)(\\\\)*[*_~`|<>\[\]()#]", shown) is None
    assert "://" not in shown
    assert "@everyone" not in shown


def test_a_subject_that_wants_to_call_and_to_link_is_shown_as_it_is() -> None:
    facts = (Fact("Subject", one_line("@everyone `**pay** [here](https://evil.test) <@1>\n# now")),)
    content = content_of(Question(UUID(int=1), 0, "Forward waits for approval", facts, NOON))
    assert "Subject: `@everyone ˋ**pay** [here](https://evil.test) <@1> # now`" in content  # noqa: RUF001 - as it is written


@given(QUESTIONS, MAIL)
def test_an_outcome_is_within_the_limit(question: Question, words: str) -> None:
    assert len(ended_content(question, words)) <= LONGEST_CONTENT


def test_another_message_is_not_the_question() -> None:
    question = Question(UUID(int=1), 0, "t", (), NOON)
    reminder = json.loads(body_of(Question(UUID(int=1), 1, "t", (), NOON)))
    for components in (reminder["components"], [], None, "x", [None], [{"components": "x"}], [{"components": [1]}]):
        assert not is_question({"components": components}, question)
