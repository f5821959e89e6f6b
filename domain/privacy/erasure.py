"""By what a person is found in texts, and what stands there once the person is erased (docs: erase-a-person.md).

The patterns are PostgreSQL's: `storage` looks through its tables with them, regardless of case.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from domain.jobs.failures import Invalid

SHORTEST_NAME = 2
"""Letters: a single one stands in every text."""
SHORTEST_NUMBER = 7
"""Digits: fewer stand in many texts that are about nobody."""
SHORTEST_TOKEN = 16
"""Letters: a device's real one has far more, and fewer may be a word."""
ERASED = "erased"
NOTHING = r"(?!.|$)"
"""A pattern that finds nothing."""
_ESCAPED = r"\\[bfnrt]"
"""White space as a text writes it that is JSON itself."""
_BEGINS = rf"(?:(?<!\w)|(?<={_ESCAPED}))"
"""Before a word."""


class MarkKind(StrEnum):
    """What a mark is."""

    ADDRESS = "address"
    ID = "id"
    """A UUID of ours."""
    NUMBER = "number"
    """A telephone number, or an id that is made of digits."""
    TOKEN = "token"  # noqa: S105 - the name of a kind
    """Of a device."""
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Mark:
    """A text by which a person is known."""

    kind: MarkKind
    text: str


@dataclass(frozen=True, slots=True)
class Search:
    """What marks are found by: exact patterns, what comes in the place of each, and one that finds at least as much.

    `identity` finds what is exactly the person's, and so no name, which others may have, too, or other words.
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
            text = re.sub(pattern, instead, text, flags=re.IGNORECASE)
        return text


def named(names: Iterable[str]) -> Sequence[Mark]:
    """Marks of names that somebody gives; raises `Invalid` for one that says nothing."""
    found = []
    for name in names:
        words = " ".join(name.split())
        if sum(map(str.isalnum, words)) < SHORTEST_NAME:
            raise Invalid("name", f"must have at least {SHORTEST_NAME} letters")
        found.append(Mark(MarkKind.NAME, words))
    return found


def search_for(marks: Iterable[Mark], others: Iterable[str] = ()) -> Search:
    """The search for marks, the longest first: an address goes before the name in it.

    An address of others is not found, though it be a person's address with a part behind a plus sign.
    """
    ordered = sorted(set(marks), key=lambda one: (-len(one.text), one.text))
    spared = sorted({address.lower() for address in others})
    found = [
        (one.kind, *(_address(one.text, spared) if one.kind is MarkKind.ADDRESS else _PATTERNS[one.kind](one.text)))
        for one in ordered
        if _tells(one)
    ]
    exact = [(pattern, instead) for _, pairs, _ in found for pattern, instead in pairs]
    loose = "|".join(loose for _, _, loose in found)
    identity = "|".join(pattern for kind, pairs, _ in found for pattern, _ in pairs if kind is not MarkKind.NAME)
    return Search(tuple(one[0] for one in exact), tuple(one[1] for one in exact), loose, identity or NOTHING)


def pattern_of_ids(ids: Iterable[str]) -> str:
    """A pattern that finds each of these UUIDs as we write them."""
    return "|".join(sorted(ids))


def _tells(mark: Mark) -> bool:
    if mark.kind is MarkKind.TOKEN:
        return len(mark.text) >= SHORTEST_TOKEN
    return mark.kind is not MarkKind.NUMBER or sum(map(str.isdigit, mark.text)) >= SHORTEST_NUMBER


_Found = tuple[list[tuple[str, str]], str]
"""Exact patterns, each with what comes instead; and a loose one."""


def _address(text: str, others: Sequence[str]) -> _Found:
    """An address, with a part behind a plus sign or without it, as it stands in a text or in a link."""
    local, _, domain = text.rpartition("@")
    start, end = f"{local}+".lower(), f"@{domain}".lower()
    theirs = [
        one.removeprefix(start).removesuffix(end) for one in others if one.startswith(start) and one.endswith(end)
    ]
    spared = rf"(?!\+(?:{'|'.join(map(re.escape, theirs))})(?:@|%40))" if theirs else ""
    inner = rf"{re.escape(local)}{spared}(?:\+[A-Za-z0-9._%-]+)?(?:@|%40){re.escape(domain)}"
    before = rf"(?:(?<![A-Za-z0-9._+-])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<={_ESCAPED}))"
    exact = rf"{before}{inner}(?![A-Za-z0-9-]|\.[A-Za-z0-9])"
    form = "x@x.invalid"
    return [(exact, form if len(text) >= len(form) else "x@x")], inner


def _id(text: str) -> _Found:
    plain = text.replace("-", "")
    edges = "(?<![0-9A-Fa-f]){}(?![0-9A-Fa-f])"
    pairs = [(edges.format(one), re.sub("[0-9a-f]", "0", one, flags=re.IGNORECASE)) for one in (text, plain)]
    return pairs, f"{text}|{plain}"


def _number(text: str) -> _Found:
    digits = text.removeprefix("+")
    return [(rf"(?<![0-9]){re.escape(digits)}(?![0-9])", "0" * len(digits))], re.escape(digits)


def _token(text: str) -> _Found:
    return [(rf"{_BEGINS}{re.escape(text)}(?!\w)", ERASED[: len(text)])], re.escape(text)


def _name(text: str) -> _Found:
    """A name as whole words, whatever white space stands between them, and with its quotes as JSON has them."""
    words = [re.sub(r'\\\\|"', lambda found: rf"\\*{found[0]}", re.escape(word)) for word in text.split()]
    inner = rf"(?:\s|{_ESCAPED})+".join(words)
    return [(rf"{_BEGINS}{inner}(?!\w)", ERASED[: len(text)])], inner


_PATTERNS = {
    MarkKind.ID: _id,
    MarkKind.NUMBER: _number,
    MarkKind.TOKEN: _token,
    MarkKind.NAME: _name,
}
