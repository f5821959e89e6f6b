"""By what a person is found in texts, and what stands there once the person is erased (docs: erase-a-person.md).

The patterns are PostgreSQL's: `storage` looks through its tables with them, regardless of case. They find each spelling
(`domain.orgs.spelling.spellings`).
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.orgs.spelling.edges import behind, whole_name, word
from domain.orgs.spelling.normal_form import normalized
from domain.orgs.spelling.person_names import name_key
from domain.orgs.spelling.phone_numbers import number_parts
from domain.orgs.spelling.spellings import BETWEEN_DIGITS, UNSEEN, spelled, spelled_digit, spelled_name
from domain.orgs.spelling.written_numbers import behind_telephone, in_run, says_a_number, with_country, within_country
from domain.payloads.mail_address import address_key, domain_in_letters

SHORTEST_NAME = 2
"""Letters: a single one stands in every text."""
LONGEST_NAME = 200
"""Characters: its pattern is a hundred times as long."""
SHORTEST_NUMBER = 7
"""Digits: fewer stand in many texts that are about nobody."""
SHORTEST_TOKEN = 16
"""Letters: a device's real one has far more, and fewer may be a word."""
ERASED = "erased"
_BEFORE_ADDRESS = "[^A-Za-z0-9\u00c0-\u024f._+'-]|(?:^|[^A-Za-z0-9\u00c0-\u024f])(?:'|[%=](?:25)?27)"
"""Behind a letter, an apostrophe is of a longer address, such as `o'ann@example.org`; else it is a quotation mark."""
NOTHING = r"(?!.|$)"
"""A pattern that finds nothing."""


class MarkKind(StrEnum):
    """What a mark is."""

    ADDRESS = "address"
    ID = "id"
    """A UUID of ours."""
    NUMBER = "number"
    """An id that is made of digits."""
    PHONE = "phone"
    """A telephone's number, as E.164 writes it."""
    TOKEN = "token"  # noqa: S105 - the name of a kind
    """Of a device."""
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Mark:
    """A text by which a person is known."""

    kind: MarkKind
    text: str

    @property
    def key(self) -> str:
        """The text as it is compared: the same for each way to write it."""
        return _KEYS.get(self.kind, str.lower)(self.text)


@dataclass(frozen=True, slots=True)
class Search:
    """What marks are found by: exact patterns, what comes in the place of each, and one that finds at least as much.

    The first group of a pattern is what is before the mark, and stays.

    `identity` finds what is exactly the person's, and so no name, which others may have, too, or other words, and no
    telephone's number without its country or what is dialed before it.
    Nothing is longer than what it replaces, so that no bounded column overflows. An address stays one in its form, and
    a UUID a UUID: who reads the row later finds a value of its kind.
    """

    patterns: tuple[str, ...]
    instead: tuple[str, ...]
    loose: str
    identity: str

    def without(self, text: str) -> str:
        """A text without the marks."""
        for pattern, instead in zip(self.patterns, self.instead, strict=True):
            text = re.sub(pattern, partial(_with, instead), text, flags=re.IGNORECASE)
        return text


def _with(instead: str, found: re.Match[str]) -> str:
    return found[1] + instead


def named(names: Iterable[str]) -> Sequence[Mark]:
    """Marks of names that somebody gives; raises `Invalid` for one that says nothing."""
    found = []
    for name in names:
        words = " ".join(name.split())
        if sum(map(str.isalnum, words)) < SHORTEST_NAME:
            raise Invalid("name", f"must have at least {SHORTEST_NAME} letters")
        if len(words) > LONGEST_NAME:
            raise Invalid("name", f"must have at most {LONGEST_NAME} characters")
        if normalized("NFC", words) != unicodedata.normalize("NFC", words):
            raise Invalid("name", "must not have more marks on a letter than any script has")
        found.append(Mark(MarkKind.NAME, words))
    return found


def search_for(marks: Iterable[Mark], others: Iterable[str] = ()) -> Search:
    """The search for marks, the longest first: an address goes before the name in it.

    An address of others is not found, though it be a person's address with a part behind a plus sign.
    """
    by_key = {(one.kind, one.key): one for one in marks}
    ordered = sorted(by_key.values(), key=lambda one: (-len(one.text), one.text))
    spared = sorted(set(map(address_key, others)))
    found = [
        _address(one.text, spared) if one.kind is MarkKind.ADDRESS else _PATTERNS[one.kind](one.text)
        for one in ordered
        if _tells(one)
    ]
    exact = [pair for one in found for pair in (*one.identity, *one.vague)]
    identity = "|".join(pattern for one in found for pattern, _ in one.identity)
    loose = "|".join(one.loose for one in found)
    return Search(tuple(one[0] for one in exact), tuple(one[1] for one in exact), loose, identity or NOTHING)


Known = tuple[UUID, str, str]
"""Something by which somebody is known: whose it is, its kind, its text."""


def marks_of(known: Iterable[Known], user_id: UUID) -> Sequence[Mark]:
    """By what a person is found, of what an org knows of each of its people.

    Not what another person has, too, such as the address of a team, nor a name that is a single word, which may be any.
    """
    found: list[Mark] = []
    of_others: set[str] = set()
    for owner, kind, text in known:
        mark = Mark(MarkKind(kind), text)
        if owner != user_id:
            of_others.add(mark.key)
        elif mark.kind is not MarkKind.NAME or " " in mark.key:
            found.append(mark)
    return [mark for mark in found if mark.key not in of_others]


def addresses_of_others(known: Iterable[Known], user_id: UUID | None) -> Sequence[str]:
    """Addresses that are somebody else's than the person's."""
    return [text for owner, kind, text in known if owner != user_id and kind == MarkKind.ADDRESS]


def pattern_of_ids(ids: Iterable[str]) -> str:
    """A pattern that finds each of these UUIDs as we write them."""
    return "|".join(sorted(ids))


def _tells(mark: Mark) -> bool:
    if mark.kind is MarkKind.TOKEN:
        return len(mark.text) >= SHORTEST_TOKEN
    return mark.kind not in {MarkKind.NUMBER, MarkKind.PHONE} or sum(map(str.isdigit, mark.text)) >= SHORTEST_NUMBER


_Pairs = list[tuple[str, str]]
"""Exact patterns, each with what comes instead."""


@dataclass(frozen=True, slots=True)
class _Found:
    """By what one mark is found."""

    identity: _Pairs
    loose: str
    vague: _Pairs = field(default_factory=list)
    """What may be about others, too."""


def _address(text: str, others: Sequence[str]) -> _Found:
    """An address, with a part behind a plus sign or without it, in whatever form a text or a link has it."""
    local, _, domain = address_key(text).rpartition("@")
    start, end = f"{local}+", f"@{domain}"
    theirs = [
        one.removeprefix(start).removesuffix(end) for one in others if one.startswith(start) and one.endswith(end)
    ]
    at, plus, before_at = (spelled(one) for one in ("@", "+", local))
    spared = rf"(?!{plus.pattern}(?:{'|'.join(map(re.escape, theirs))}){at.pattern})" if theirs else ""
    after_at = [spelled(one) for one in dict.fromkeys((domain, domain_in_letters(domain)))]
    domains = "|".join(one.pattern for one in after_at)
    part = f"(?:{plus.pattern}[A-Za-z0-9._%-]+)?"
    inner = f"{before_at.pattern}{UNSEEN}{spared}{part}{at.pattern}{UNSEEN}(?:{domains})"
    exact = behind(_BEFORE_ADDRESS, inner) + r"(?![A-Za-z0-9-]|\.[A-Za-z0-9])"
    form = "x@x.invalid"
    shortest = before_at.shortest + 1 + min(one.shortest for one in after_at)
    return _Found([(exact, form if shortest >= len(form) else "x@x")], inner)


def _id(text: str) -> _Found:
    plain = text.replace("-", "")
    edges = "(^|[^0-9A-Fa-f]){}(?![0-9A-Fa-f])"
    pairs = [(edges.format(one), re.sub("[0-9a-f]", "0", one, flags=re.IGNORECASE)) for one in (text, plain)]
    return _Found(pairs, f"{text}|{plain}")


def _number(text: str) -> _Found:
    digits = text.removeprefix("+")
    return _Found([(in_run(digits), "0" * len(digits))], re.escape(digits))


def _phone(text: str) -> _Found:
    """A number with its country, and as it is dialed within the country; without both, where a word says what it is."""
    parts = number_parts(text)
    whole, dialed = parts.country + parts.national, parts.trunk + parts.national
    identity = [(with_country(parts), whole)]
    if says_a_number(whole):
        identity.append((in_run(whole), whole))
    if says_a_number(dialed) and (parts.trunk or dialed.startswith("0")):
        identity.append((within_country(dialed), dialed))
    return _Found(
        [(one, "0" * len(digits)) for one, digits in identity],
        BETWEEN_DIGITS.join(map(spelled_digit, parts.national)),
        [(behind_telephone(parts), "0" * len(parts.national))],
    )


def _token(text: str) -> _Found:
    return _Found([(word(re.escape(text)), ERASED[: len(text)])], re.escape(text))


def _name(text: str) -> _Found:
    """A name as whole words, as it is in a list, too: the last words first, with a comma behind them."""
    orders = spelled_name(text)
    instead = ERASED[: orders[0].shortest]
    return _Found([], "|".join(one.pattern for one in orders), [(one, instead) for one in whole_name(orders)])


_KEYS = {MarkKind.ADDRESS: address_key, MarkKind.NAME: name_key}
_PATTERNS = {
    MarkKind.ID: _id,
    MarkKind.NUMBER: _number,
    MarkKind.PHONE: _phone,
    MarkKind.TOKEN: _token,
    MarkKind.NAME: _name,
}
