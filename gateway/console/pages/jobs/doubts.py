"""Effects in doubt: what was asked of whom, what was seen of it, and a person's word on each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.jobs.effects import Strategy
from gateway.console.derived import Listing
from gateway.console.frame import CURSOR, sees
from gateway.console.pages import HandPage, Look
from gateway.console.pages.facts import at
from operations.approvals.effects import UnknownEffectView, list_effects, rule_effect
from operations.pages import Window

SHOWN = 20
"""Effects on a page: each has a form."""
ASKED: Mapping[Strategy, str] = {
    Strategy.NATIVE_KEY: "The provider was called with a key by which it does a call once; it forgets keys.",
    Strategy.FIND: "The provider was called, and then asked whether the call had happened.",
    Strategy.IDEMPOTENT: "The provider was called; twice would be the same as once.",
    Strategy.AT_MOST_ONCE: "The provider was called once and cannot be asked; twice would be worse than never.",
}
"""What each strategy did before it gave up."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """An effect, and the pages of its job and letter."""

    effect: UnknownEffectView
    asked: str
    asked_at: str
    since: str
    job_href: str | None
    letter_href: str | None


@dataclass(frozen=True, slots=True)
class DoubtsPage:
    """What the page of effects in doubt shows."""

    doubts: Sequence[Doubt]
    may_rule: bool
    listing: Listing


def fill(look: Look) -> DoubtsPage:
    """The newest effects in doubt, of the org that was chosen or of all."""
    found = look.call(list_effects, window=Window(SHOWN, look.request.query_params.get(CURSOR)))
    return DoubtsPage(
        [_doubt(look, one) for one in found.items],
        sees(look.frame.visitor, rule_effect),
        look.table(list_effects, found),
    )


def _doubt(look: Look, one: UnknownEffectView) -> Doubt:
    address, beside = look.frame.things.address, {"org_id": one.org_id}
    return Doubt(
        one,
        ASKED[Strategy(one.strategy)],
        at(one.asked_at),
        at(one.since),
        address("job_id", str(one.job_id), beside),
        address("letter_id", str(one.letter_id), beside) if one.letter_id else None,
    )


DOUBTS = HandPage(path="effects", title="Effects in doubt", shown=DoubtsPage, fill=fill, needs=list_effects)
