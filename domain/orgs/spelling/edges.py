"""Where in a text somebody's mark begins and ends: not within a word or an address of others (docs: erase-a-person.md).

What is before a mark is the first group of its pattern, for PostgreSQL looks back so slowly that it would take seconds
for a long mail; and it looks ahead only behind a letter that is rare, for it forgets its way at each such look.
"""

from collections.abc import Sequence

from domain.orgs.spelling.spellings import Spelling, spelled

SIGN = (
    r"\\[bfnrt]|[%=](?:25)?(?:[01][0-9a-f]|2[0-4689ac]|3[a-f]|a0)"
    r"|\\u00(?:[01][0-9a-f]|2[0-9acf]|3[a-f]|a0)|\\u20[02][0-9a-f]"
)
"""What no word and no address goes on behind, in another form such as `%20`."""
APOSTROPHE = "[%=](?:25)?27"
"""In such a form; in an address it may be within a name."""
_WORD_GOES_ON = "(?![^\\W_]|[\u0300-\u036f])"
_STARTS = (
    r"[^\w.@＠/%=;\\-]|_|(?:^|[^/\\])\\*/|(?:^|[^f])[%=](?:25)?2f|[%=](?:25)?27"  # noqa: RUF001 - the sign in full width
    r"|(?:[^40t]|[^6]4|[^4]0|[^a]t);|(?:^|[^\w.+'\"~-])@(?![\w-]*\.\w)"
)
"""Signs behind which no domain goes on: neither an address's @, nor the second slash of a link, in any form of text.
Before the @ that calls a person in a text is no letter, and no dot is in the word behind it."""
_STARTS_OF_RUN = rf"{_STARTS}|[%=][^\W_24]"
"""These two signs may begin the code of an @ or a slash, and then have a 2 or a 4 behind them."""
_RUN = r"(?:[^\W_]|[.-])*"
"""What a domain is made of; a name may begin within it, behind a dot or a hyphen."""
_LOCAL = r"(?:[\w.+'~-]|[%=](?:25)?2[7b]){0,64}(?:\\*\"|&quot;|%(?:25)?22)?"
"""The rest of an address before its @."""


def behind(others: str, pattern: str) -> str:
    """The pattern behind the start of the text, one of other characters, or a sign in another form such as `%20`."""
    return f"(^|{others}|{SIGN}|[%=](?:25)?2f)(?:{pattern})"


def word(pattern: str) -> str:
    """The pattern where it is a whole word or several."""
    return behind(rf"[\W_]|{APOSTROPHE}", pattern) + _WORD_GOES_ON


def whole_name(orders: Sequence[Spelling]) -> Sequence[str]:
    """A name, in each order of its words, where it is whole words, and in no address and no link's host.

    The second pattern finds it within a word such as `cv-ann-king`; of several there all from the first to the last.
    The quantifiers of one say to PostgreSQL that the group is as short as can be, and the whole as long.
    """
    ends = f"{_WORD_GOES_ON}(?!{_LOCAL}{spelled('@').pattern})"
    any_order = "|".join(one.pattern for one in orders)
    again = rf"(?:{_RUN}[.-](?:{orders[0].pattern}){ends})*"
    return (
        rf"(^|{SIGN}|{_STARTS}|[%=\\])(?:{any_order}){ends}",
        rf"(?:((?:^|{SIGN}|{_STARTS_OF_RUN}){{1,1}}?{_RUN}?[.-])(?:{any_order}){ends}{again}){{1,1}}",
    )
