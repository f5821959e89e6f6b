"""Search: what has an id, with the page of each thing."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.jobs.failures import Gone
from gateway.console.pages import HandPage, Look
from gateway.console.pages.facts import Fact
from gateway.console.shown import in_words
from gateway.console.things import SHOW, operation_of
from operations.search import LOOKS, FoundThing, search


@dataclass(frozen=True, slots=True)
class Result:
    """A thing that was found."""

    kind: str
    said: str
    at: str
    href: str | None
    others: Sequence[Fact]
    """What belongs to it."""


@dataclass(frozen=True, slots=True)
class SearchPage:
    """What the page of a search shows."""

    asked: str
    results: Sequence[Result]
    nothing: str
    needs_org: bool


def fill(look: Look) -> SearchPage:
    """What has the id that was asked for."""
    asked = look.asked.get("q", "").strip()
    if not asked or not look.may(search):
        return SearchPage(asked, (), "", bool(asked))
    try:
        found = look.call(search, asked).items
    except Gone as nothing:
        return SearchPage(asked, (), nothing.reason, needs_org=False)
    said = "" if found else "Nothing has this id. What has ended is removed after its retention."
    return SearchPage(asked, [_result(look, one) for one in found], said, needs_org=False)


def _result(look: Look, one: FoundThing) -> Result:
    beside = {"org_id": one.org_id}
    others = [
        Fact(in_words(name), value, look.frame.things.address(name, value, beside)) for name, value in one.ids.items()
    ]
    known = LOOKS.get(one.kind)
    shows = known and (operation_of(known.area, SHOW) or known)
    href = look.frame.things.page(shows, {shows.positional[0]: one.id}, one.org_id) if shows else None
    if href is None:
        href = next((other.href for other in others if other.href), None)
    return Result(in_words(one.kind), one.said, f"{one.at:%Y-%m-%d %H:%M} UTC" if one.at else "", href, others)


SEARCH = HandPage(path="search", title="Search", shown=SearchPage, fill=fill, asks=("q",))
SEARCHED = HandPage(path="search/search", title="Search", shown=SearchPage, fill=fill, asks=("q",))
"""The same where the operation has its page."""
