"""Search: what has an id, with the page of each thing."""

from collections.abc import Mapping
from typing import Any

from domain.jobs.failures import Gone
from gateway.console.frame import reading_call
from gateway.console.pages import HandPage, Look
from gateway.console.pages.facts import Fact
from gateway.console.shown import in_words
from gateway.console.things import SHOW, operation_of
from operations.search import LOOKS, FoundThing, search

NOTHING = "Nothing has this id. What has ended is removed after its retention."


def fill(look: Look) -> Mapping[str, Any]:
    """What has the id that was asked for."""
    asked = look.asked.get("q", "").strip()
    shown: dict[str, Any] = {"asked": asked, "results": (), "nothing": "", "needs_org": False}
    if not asked or not look.may(search):
        return shown | {"needs_org": bool(asked)}
    try:
        found = look.call(search, asked).items
        # The page before may have chosen the org: whoever sees all of them finds what is of another one, too.
        if not found and look.frame.visitor.org_ids is None:
            found = search(reading_call(look.request, look.frame.visitor, None), asked).items
    except Gone as nothing:
        return shown | {"nothing": NOTHING if look.frame.org_id else nothing.reason}
    said = "" if found else NOTHING
    return shown | {"results": [_result(look, one) for one in found], "nothing": said}


def _result(look: Look, one: FoundThing) -> Mapping[str, Any]:
    """A thing that was found, with what belongs to it; the page of that where it has none of its own."""
    beside = {"org_id": one.org_id}
    others = [
        Fact(in_words(name), value, look.frame.things.address(name, value, beside)) for name, value in one.ids.items()
    ]
    known = LOOKS.get(one.kind)
    shows = known and (operation_of(known.area, SHOW) or known)
    href = look.frame.things.page(shows, {shows.positional[0]: one.id}, one.org_id) if shows else None
    href = href or next((other.href for other in others if other.href), None)
    return {"thing": one, "kind": in_words(one.kind), "href": href, "others": others}


SEARCH = HandPage(path="search", title="Search", fill=fill, asks=("q",))
SEARCHED = HandPage(path="search/search", title="Search", fill=fill, asks=("q",))
"""The same where the operation has its page."""
