"""How a number is written among words, and what is none though it has the same digits (docs: erase-a-person.md).

The digits of a day, a time, an amount, a UUID or a longer number are nobody's.
"""

import re

from domain.orgs.spelling.edges import SIGN, behind
from domain.orgs.spelling.phone_numbers import NumberParts
from domain.orgs.spelling.spellings import BETWEEN_DIGITS, spelled, spelled_digit

SHORTEST_ALONE = 9
"""Digits: fewer are in many texts that are about nobody."""

_BEFORE = r"[^0-9A-Za-z_.,:-]|[^0-9][.:]|(?:[^0-9]|[0-9]{4}),|(?:^|[^0-9a-f])[a-f]{0,3}[_-]|[%=]27"
"""No digit with a point, and no part of a UUID; behind four digits and a comma a list goes on, and no fraction."""
_UUID_GOES_ON = "-[0-9a-f]{4}(?:-|[0-9a-f]{8})"
_AFTER = f"(?![0-9a-f]|[.:-][0-9]|,[0-9]{{1,2}}(?:[^0-9]|$)|{_UUID_GOES_ON})"
_DATE_SIGN = "[./\u2010-\u2015\u2212-] ?"
_THOUSANDS_SIGN = "[ .'\u00a0\u2019\u202f]"
_DAY = "(?:0[1-9]|[12][0-9]|3[01])"
"""Of two digits; and a month, which may be before it."""
_YEAR = "(?:19|20)[0-9]{2}"
_TIME = "(?:(?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9])?)?"
_MOMENT = re.compile(f"{_TIME}(?:{_YEAR}{_DAY}{_DAY}|{_DAY}{_DAY}{_YEAR}){_TIME}")
"""The digits of a date, with a time before or behind it."""
_DATES = [
    (re.compile(form), "(?:[^0-9]|$)")
    for a in (_DAY, "[1-9]")
    for b in (_DAY, "[1-9]")
    for form in (f"({_YEAR})({a})({b})", f"({a})({b})({_YEAR})")
]
_SHORT_DATE = re.compile(f"({_DAY})({_DAY})([0-9]{{2}})"), "(?:[^0-9./-]|$)"
"""The digits of a date's parts, and what is behind them; a number of France goes on behind six digits with dots."""
_TELEPHONE = (
    "(?:(?:(?:cell|home|mobile|smart|tele|work)[ _-]?)?phone|t[eé]l(?:[eé]phone|efono|efon|efoon)?|tlf|tfn|puh|s[ií]mi"
    "|mobile?|m[oó]vil|celular|cellulare|portable|handy|cell|gsm|fax|sms|whatsapp)"
    "(?:[ _-]?(?:number|n[uú]mero|nummer|no|nr))?(?:[ \t:=.(\"'\\\\\u00a0]|%20|%3a){0,6}"
)
"""A word that says so, and what is between it and a number."""


def says_a_number(digits: str) -> bool:
    """Whether digits alone say a number, for they are many and no time."""
    return len(digits) >= SHORTEST_ALONE and not _MOMENT.fullmatch(digits)


def in_run(digits: str) -> str:
    """The digits in one run, as a document has a number."""
    return behind(_BEFORE, "".join(map(spelled_digit, digits))) + _AFTER


def with_country(parts: NumberParts) -> str:
    """A number with its country, behind a plus sign or what is dialed for one; that stays."""
    plus = spelled("+").pattern
    lead = f"(?:(?:^|[^0-9]|{SIGN}){plus}|(?:^|{_BEFORE}|{SIGN})(?:00|011)){BETWEEN_DIGITS}"
    trunk = f"(?:{_grouped(parts.trunk)}{BETWEEN_DIGITS})?" if parts.trunk else ""
    country = f"{_grouped(parts.country)}{BETWEEN_DIGITS}" if parts.country else ""
    return f"({lead}){country}{trunk}{_grouped(parts.national)}(?![0-9a-f]|{_UUID_GOES_ON})"


def within_country(digits: str) -> str:
    """A number as it is dialed within its country: what is dialed before it, and its own digits."""
    return behind(_BEFORE, _grouped(digits, is_dialed=True)) + _AFTER


def behind_telephone(parts: NumberParts) -> str:
    """A number right behind a word that says telephone."""
    before = "".join(f"(?:{_grouped(one)}{BETWEEN_DIGITS})?" for one in (parts.country, parts.trunk) if one)
    return f"((?:^|[\\W_]|{SIGN}){_TELEPHONE}{before}){_grouped(parts.national)}{_AFTER}"


def _grouped(digits: str, *, is_dialed: bool = False) -> str:
    """Digits with what people write between the groups of a number, where they write no date, amount or fraction."""
    pieces = [
        spelled_digit(one) + _no_date(digits[at:], f"(?: |{_DATE_SIGN})" if is_dialed else _DATE_SIGN)
        for at, one in enumerate(digits)
    ]
    if is_dialed:
        pieces[0] += r"(?!\.)" if digits.startswith("0") else _no_thousands(digits)
    return BETWEEN_DIGITS.join(pieces)


def _no_date(digits: str, between: str) -> str:
    """That behind the first digit no date goes on."""
    dates = [
        (_DATE_SIGN if form is _SHORT_DATE[0] else between).join(found.groups())[1:] + end
        for form, end in (*_DATES, _SHORT_DATE)
        if (found := form.match(digits))
    ]
    return f"(?!{'|'.join(dates)})" if dates else ""


def _no_thousands(digits: str) -> str:
    """That behind the first digit no amount goes on whose thousands are set apart."""
    first = len(digits) % 3 or 3
    thousands = (digits[at : at + 3] for at in range(first, len(digits), 3))
    return f"(?!{_THOUSANDS_SIGN.join((digits[1:first], *thousands))})"
