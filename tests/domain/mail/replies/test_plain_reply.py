"""What a model writes reads like a person's mail: no Markdown, nothing left to fill in, and literal text as it was."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.replies.plain_reply import plain_reply

MARKED = {
    "**Tuesday** suits *me* __very well__ and ***much***.": "Tuesday suits me very well and much.",
    "**a *b* c**": "a b c",
    "这是**重要**的": "这是重要的",
    "# Plan\n\nFirst": "Plan\n\nFirst",
    "## Plan ##": "Plan",
    "* one\n* **two**: x\n  + three\n• four\n- five": "- one\n- two: x\n  - three\n- four\n- five",
    "one\n\n---\n\ntwo\n***\nthree": "one\n\ntwo\n\nthree",
    "See [our page](https://a.example/b_c_d).": "See our page (https://a.example/b_c_d).",
    "[https://a.example](https://a.example)": "https://a.example",
    "[ada@a.example](mailto:ada@a.example)": "ada@a.example",
    "Run:\n```sh\nls **/*.py __x__\n```\nDone": "Run:\nls **/*.py __x__\nDone",
    "Set `my_var` to `[date]`.": "Set my_var to [date].",
    "| Day | Hour |\n|---|:-:|\n| Mon | 9 |": "Day | Hour\nMon | 9",
    "one  \ntwo<br>three": "one\ntwo\nthree",
    r"\*not bold\*": "*not bold*",
    "_Thanks_, (_really_)": "Thanks, (really)",
}


@pytest.mark.parametrize(("marked", "plain"), MARKED.items())
def test_markdown_is_taken_off(marked: str, plain: str) -> None:
    assert plain_reply(marked) == plain


@pytest.mark.parametrize(
    "text",
    [
        "2*3*4 = 24 and 2 * 3 * 4, x**2 + y**2",
        "snake_case_name, __init__ and *nix or *bsd",
        "https://a.example/_x_/y__z__#a and www.a.example/*a*/",
        "ada_b_c@a.example",
        "A note* and another*.",
        "#1 on the list, C# and #hashtag",
        "1. one\n2. two\n\n- three\n  - four",
        "> quoted\n\n-- \nOlga",
        "See [1] and list[0], [sic], [JIRA-12], [ILUG], [was: Some files ], [was Re: Lite my Fire] and [ ].",
        "Size XXL or XX, {a} and f{x}, a < b > c, Anna <anna@a.example>",
        "Either | or",
        "Grüße\nOlga",
        "5 - 3 - 2 -- or so",
    ],
)
def test_literal_text_stays(text: str) -> None:
    assert plain_reply(text, "Olga Owner") == text


@given(st.text(st.characters(codec="utf-8", exclude_characters="*_[]{}<>#`|~X+•=\\-", exclude_categories=("Cc", "Cn"))))
def test_text_without_marks_keeps_its_words(text: str) -> None:
    if text.strip():
        assert plain_reply(text).split() == text.split()


@pytest.mark.parametrize(
    ("text", "filled", "without"),
    [
        ("Hi\n\nBest,\n[Your Name]", "Hi\n\nBest,\nOlga Owner", "Hi\n\nBest,"),
        ("Hi\n\nBest,\n\n[Name]\n[Your Position]\n[Your Company]", "Hi\n\nBest,\n\nOlga Owner", "Hi\n\nBest,"),
        ("Hi\n**[Your Name]**", "Hi\nOlga Owner", "Hi"),
        ("Hallo\n[Ihr Name],", "Hallo\nOlga Owner", "Hallo"),
        ("Hi\n{{your_name}}", "Hi\nOlga Owner", "Hi"),
        ("Hi\n<Your Full Name>", "Hi\nOlga Owner", "Hi"),
        ("This is [Your Name] of Acme.", "This is Olga Owner of Acme.", None),
        ("Best,\n[Your Name]\nAcme", "Best,\nOlga Owner\nAcme", None),
    ],
)
def test_the_owner_s_name_fills_its_gap(text: str, filled: str, without: str | None) -> None:
    assert plain_reply(text, "Olga Owner") == filled
    if without is not None:
        assert plain_reply(text) == without
    else:
        with pytest.raises(Invalid, match="body"):
            plain_reply(text)


GAPS = """[date] [insert 2 dates] [Company Name] {{time}} {date} ${amount} <insert link> [您的电话] at XX:XX on XX €XX
XX.XX.XXXX ____ **[link]** [___] [Recipient's name] [TBD]"""


@pytest.mark.parametrize("gap", re.findall(r"(?:at |on )?[^\s\[<]*[\[<][^]>]*[]>]\**|(?:at |on )?\S+", GAPS))
def test_a_reply_with_another_gap_is_refused(gap: str) -> None:
    for text in (f"See you {gap}.\n\nOlga", f"Dear {gap},\n\nyes.", f"I shall come {gap}"):
        with pytest.raises(Invalid, match="gap"):
            plain_reply(text, "Olga Owner")
