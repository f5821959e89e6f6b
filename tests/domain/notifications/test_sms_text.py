"""A text as it is sent by SMS: in the alphabet that costs least, and cut where it is too long."""

# ruff: noqa: RUF001 - letters that look alike are what is tested

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.notifications.channels import Channel
from domain.notifications.cutting import cut
from domain.notifications.sms_text import cheapest, in_segments, measure
from domain.notifications.template import read_template, words_of

BOOKING = {
    "category": "bookings",
    "most_segments": 2,
    "sample": {"name": "Anna O'Brien"},
    "sms": "{{ name }}, your booking of the large hall on Friday the twenty-seventh of November at half past nine in"
    " the evening has been confirmed by the house, and the caretaker waits for you at the eastern gate from"
    " nine o'clock on.",
}
WRITTEN = [
    ("O’Brien ‘s “x” „y‟ «z» ‹a›", 'O\'Brien \'s "x" "y" "z" <a>'),
    ("9–10 — a‐b‑c ― 5−3", "9-10 - a-b-c - 5-3"),
    ("wait… and ‥", "wait... and .."),
    ("10\u00a0€\u202f5\u2009a\u3000b\tc\u2028d", "10 € 5 a b c\nd"),
    ("a\u200bb\u00adc\ufeffd\u2060e\u200ef", "abcdef"),
    ("Jo\u0308rg A\u030angstro\u0308m \u2126", "Jörg Ångström Ω"),
    ("Ｏｆｆｉｃｅ ＃１ ﬁve №3", "Office #1 five No3"),
    ("´x` • y · 2×3 ¦", "'x' * y . 2x3 |"),
    ("[{^}]~\\|€", "[{^}]~\\|€"),
    # What means something else in the alphabet, or is no part of it, leaves all as it is.
    ("10² “x”", "10² “x”"),
    ("Привет — “Анна”…", "Привет — “Анна”…"),
    ("So\u0301fia’s", "Sófia’s"),
    ("ok 👩\u200d👩\u200d👧 …", "ok 👩\u200d👩\u200d👧 …"),
]


@pytest.mark.parametrize(("text", "sent"), WRITTEN)
def test_letters_are_written_as_their_twins_where_that_is_enough(text: str, sent: str) -> None:
    assert cheapest(text) == sent


@given(st.text(max_size=40))
def test_a_text_never_costs_more_for_being_written_anew(text: str) -> None:
    """It is the same to whom writes it again, and what is in the alphabet stays."""
    written = cheapest(text)
    assert cheapest(written) == written
    assert measure(written).segments <= measure(unicodedata.normalize("NFC", text)).segments or "…" in text
    assert measure(text).encoding == "UCS-2" or written == text


@pytest.mark.parametrize("name", ["Anna O’Brien", "Anna\u00a0O`Brien", "Anna O\u200b'Brien", "Anna O'Brien\u2026"])
def test_one_typographic_letter_costs_no_segment(name: str) -> None:
    words = words_of(read_template(BOOKING), Channel.SMS, {"name": name})
    assert (measure(words.body).encoding, measure(words.body).segments) == ("GSM-7", 2)
    assert words.body.endswith("from nine o'clock on.")


@pytest.mark.parametrize("name", ["Anna 😀", "Анна", "Ann " * 100, "x" * 5_000, "😀" * 500, "e\u0301\u0302" * 500])
def test_what_is_too_long_is_sent_in_part(name: str) -> None:
    words = words_of(read_template(BOOKING), Channel.SMS, {"name": name})
    assert measure(words.body).segments == 2
    assert words.body.endswith("...")


def test_a_template_whose_sample_is_too_long_is_refused() -> None:
    with pytest.raises(Invalid, match="has 3 segments"):
        read_template(BOOKING | {"sample": {"name": "x" * 200}})


@given(st.text(alphabet="ab €é’😀\U0001f3fdЖ \n\u0301\u200d🇩", max_size=400), st.integers(1, 3))
def test_what_is_cut_fits_and_is_no_shorter_than_it_must_be(text: str, most: int) -> None:
    found = in_segments(text, most)
    assert measure(found).segments <= most
    if found != text:
        head = found.removesuffix("...")
        assert text.startswith(head)
        assert measure(text).segments > most
        rest = text[len(head) :]
        next_word = rest.lstrip().split(maxsplit=1)[0] if rest.strip() else rest
        missing = rest[: len(rest) - len(rest.lstrip())] + next_word
        assert measure(head + missing + "...").segments > most or len(next_word) > len(head) / 2 or len(missing) > 40


LETTERS = ["👩\u200d👩\u200d👧", "🇩🇪", "👍\U0001f3fd", "e\u0301", "❤\ufe0f", "x"]


@given(st.lists(st.sampled_from(LETTERS), min_size=1, max_size=40), st.integers(1, 60))
def test_no_letter_is_cut_in_two(letters: list[str], most: int) -> None:
    found = cut("".join(letters), lambda some: len(some) <= most)
    ends = ["".join(letters[:end]) for end in range(len(letters) + 1)]
    assert found.removesuffix("…") in ends


def test_a_word_is_not_cut_where_most_of_the_text_is_before_it() -> None:
    assert cut("look at https://example.org/a/long/one", lambda some: len(some) <= 15) == "look at…"
    assert cut("at https://example.org/a/long/one", lambda some: len(some) <= 16) == "at https://exam…"
    assert cut("look at this", lambda some: len(some) <= 8) == "look at…"
