"""The model sees what a reader sees; what there is no room for gives way in order, and the text says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.parsing.parsed_message import Defect
from domain.mail.replies.drafting import LONGEST_MESSAGE, thread_context
from domain.mail.shown_text import COPY, shown_text
from domain.mail.triage.prompts import LONGEST_MAIL, classification_prompt, describe_mail
from domain.orgs.spelling.normal_form import visible
from tests.domain.mail.messages import make_message
from tests.domain.mail.parsing.quotations import HEADS, PLAIN

FORWARD = """Can you answer this one?

---------- Forwarded message ---------
From: Carl <carl@c.example>
Date: Mon, 23 Nov 2026
Subject: Price

What does the big machine cost, and can you deliver in May?
"""
DASHES = "Hi,\n\ntwo things:\n\n--\n\nPlease send me the contract by Friday, that is urgent.\n"


@pytest.mark.parametrize("text", [FORWARD, DASHES, *PLAIN, *HEADS.values()])
def test_every_word_of_a_message_is_shown(text: str) -> None:
    shown = describe_mail(make_message(text))
    words = iter(shown.split())
    assert all(word in words for word in visible(text).split()), "in their order"
    prompt = classification_prompt(make_message(text), "b" * 16)
    assert text.rsplit(maxsplit=1)[-1] in prompt.mail.split("<<<end")[0]


def test_a_copy_is_marked_and_a_quotation_has_its_own_mark() -> None:
    assert f"one?\n\n{COPY}\n---------- Forwarded" in describe_mail(make_message(FORWARD))
    assert COPY not in describe_mail(make_message("> Noon?\nYes.\n> And then?\nNo.\n"))


@given(st.text(max_size=2_000))
def test_a_text_that_has_room_stays_as_it_is(text: str) -> None:
    assert shown_text(text, 3_000).replace(f"{COPY}\n", "").split() == text.split()


@given(st.lists(st.sampled_from(["word " * 40, "> quoted " * 30, "", "On Nov 3, 2026, Ada wrote:"]), max_size=200))
def test_a_text_without_room_is_bounded_and_says_what_is_left_out(lines: list[str]) -> None:
    text = "\n".join(lines)
    shown = shown_text(text, 2_000)
    assert len(shown) <= 2_000
    assert len(text.strip()) <= len(shown) or "are left out.]" in shown


def test_quotations_give_way_to_what_was_written_below_them() -> None:
    text = "> their long letter\n" * 2_000 + "My answer is no.\n"
    shown = describe_mail(make_message(text))
    assert shown.endswith("characters of quoted text are left out.]\nMy answer is no.")
    assert shown.count("> their long letter") > 400
    assert len(shown) <= LONGEST_MAIL


def test_each_quotation_has_its_share_of_the_room() -> None:
    text = f"> first\nyes\n{'> second ' * 3_000}\nno\n> third\nmaybe"
    shown = shown_text(text, 5_000)
    for words in ("> first\nyes\n> second", "left out.]\nno\n> third\nmaybe"):
        assert words in shown


def test_many_quotations_take_no_room_from_the_answers_between_them() -> None:
    text = "\n".join(f"> {'their question ' * 17}\nanswer {number} to their question" for number in range(120))
    shown = shown_text(text, 6_000)
    assert all(f"\nanswer {number} to their question" in shown for number in range(120))
    assert len(shown) <= 6_000


@pytest.mark.parametrize("text", PLAIN)
def test_what_the_writer_wrote_is_marked_as_no_copy(text: str) -> None:
    assert COPY not in describe_mail(make_message(text))


def test_what_was_cut_when_it_was_read_is_said() -> None:
    message = make_message("word " * 50_000)
    assert Defect.TRUNCATED_TEXT in message.defects
    assert "its end is missing" in describe_mail(message)
    assert "more characters of the message are left out.]" in describe_mail(message)


def test_headers_are_shown_whole_or_marked_and_names_hide_no_address() -> None:
    subject = "word " * 190
    shown = describe_mail(make_message(subject=subject, **{"from": f"{'Ada ' * 60}<ada@example.org>"}))
    assert f"Subject: {subject.strip()}\n" in shown
    assert "<ada@example.org>\n" in shown


def test_a_thread_says_how_many_messages_it_leaves_out_and_ends_with_the_newest() -> None:
    thread = [make_message(f"message {number} " + "word " * 2_000) for number in range(20)]
    context = thread_context(thread, 2 * LONGEST_MESSAGE)
    assert context.startswith("[18 earlier messages of the thread are left out.]")
    assert "message 18 " in context
    assert "message 19 " in context
    assert len(thread_context(thread, 2 * LONGEST_MESSAGE)) < 2 * LONGEST_MESSAGE + 200
