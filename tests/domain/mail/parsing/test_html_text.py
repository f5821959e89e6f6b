import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.mail.parsing.html_text import html_to_text

LETTERS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)


@given(st.lists(LETTERS, min_size=1, max_size=20))
def test_escaped_text_comes_back_word_for_word(words: list[str]) -> None:
    assert html_to_text(f"<p>{html.escape(' '.join(words))}</p>") == " ".join(words)


@given(
    st.lists(st.sampled_from(["<", ">", "<!--", "-->", "<p", "</p>", "<script>", '"', "'", "&amp", "x"]), max_size=80)
)
def test_any_markup_is_read_to_its_end(pieces: list[str]) -> None:
    markup = "".join(pieces)
    assert html_to_text(f"seen<p>{markup}").startswith("seen")


@given(st.from_regex(r"[a-z]{3,12}", fullmatch=True))
def test_what_scripts_and_styles_say_is_never_text(secret: str) -> None:
    for name in ("script", "style", "title", "svg"):
        assert html_to_text(f"<{name}>1{secret}2</{name}><body>seen") == "seen"
    assert html_to_text(f"<!-- 1{secret}2 -->seen") == "seen"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("a<br>b", "a\nb"),
        ("<ul><li>one<li>two</ul>", "- one\n- two"),
        ("<table><tr><td>1</td><td>2</td></tr></table>", "1 2"),
        ("new<blockquote>old<blockquote>older</blockquote></blockquote>", "new\n\n> old\n\n> > older"),
        ("5 &lt; 6 &amp;&nbsp;7 &#8364;", "5 < 6 & 7 €"),
        ("1 < 2", "1 < 2"),
        ("<a href='x>y'>link</a>", "link"),
        ("<img src=x alt='a picture'>", "a picture"),
        ("text<!-- never closed", "text"),
        ("<head><title>x</title><body>no end of head", "no end of head"),
    ],
)
def test_known_markup(markup: str, text: str) -> None:
    assert html_to_text(markup) == text
