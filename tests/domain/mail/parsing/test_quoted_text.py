import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.parsing.quoted_text import visible_text
from tests.domain.mail.parsing.quotations import HEADS, PLAIN


@given(st.text(max_size=500))
def test_a_text_with_something_in_it_never_becomes_empty(text: str) -> None:
    assert bool(visible_text(text)) == bool(text.strip())


@given(st.lists(st.from_regex(r"[a-z ]{1,30}", fullmatch=True), min_size=1, max_size=10))
def test_plain_words_stay(lines: list[str]) -> None:
    words = " ".join(lines).split()
    assert visible_text("\n".join(lines)).split() == words


@pytest.mark.parametrize("mailer", HEADS)
def test_the_head_of_a_quotation_is_known_in_every_language(mailer: str) -> None:
    assert visible_text(f"My answer.\n\nSecond line.\n\n{HEADS[mailer]}") == "My answer.\n\nSecond line."


@pytest.mark.parametrize("text", PLAIN)
def test_what_only_looks_like_a_quotation_stays(text: str) -> None:
    assert visible_text(text).split() == text.split()


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("Yes.\n\nOn Mon, 3 Nov 2026 at 10:00, Ada <ada@example.org> wrote:\n> Can you?\n> Ada", "Yes."),
        ("Yes.\n\nOn Mon, 3 Nov 2026 at 10:00, Ada Lovelace\n<ada@example.org> wrote:\n> Can you?", "Yes."),
        ("> first?\nyes\n> second?\nno", "yes\n\nno"),
        ("Fine.\n-- \nAda\nexample.org", "Fine."),
        ("Fine.\n\n-----Original Message-----\nFrom: Bob\nold", "Fine."),
        ("Fine.\n\nFrom: Bob <bob@example.org>\nSent: Monday\nTo: Ada\n\nold", "Fine."),
        ("> all of it is quoted", "> all of it is quoted"),
        ("From: here to there\nit is far", "From: here to there\nit is far"),
    ],
)
def test_known_replies(text: str, visible: str) -> None:
    assert visible_text(text) == visible
