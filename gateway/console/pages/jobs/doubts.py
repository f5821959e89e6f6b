"""Effects in doubt: what was asked of whom, what was seen of it, and a person's word on each."""

from collections.abc import Mapping
from typing import Any

from domain.jobs.effects import Strategy
from gateway.console.frame import sees
from gateway.console.pages import HandPage, Look
from operations.approvals.effects import list_effects, rule_effect

SHOWN = 20
"""Effects on a page: each has a form."""
ASKED: Mapping[Strategy, str] = {
    Strategy.NATIVE_KEY: "The provider was called with a key by which it does a call once; it forgets keys.",
    Strategy.FIND: "The provider was called, and then asked whether the call had happened.",
    Strategy.IDEMPOTENT: "The provider was called; twice would be the same as once.",
    Strategy.AT_MOST_ONCE: "The provider was called once and cannot be asked; twice would be worse than never.",
}
"""What each strategy did before it gave up."""


def fill(look: Look) -> Mapping[str, Any]:
    """The newest effects in doubt, of the org that was chosen or of all, with the pages of their jobs and letters."""
    found = look.call(list_effects, window=look.window(SHOWN))
    address = look.frame.things.address
    return {
        "doubts": [
            {
                "effect": one,
                "asked": ASKED[Strategy(one.strategy)],
                "job_href": address("job_id", str(one.job_id), {"org_id": one.org_id}),
                "letter_href": address("letter_id", str(one.letter_id), {"org_id": one.org_id})
                if one.letter_id
                else None,
            }
            for one in found.items
        ],
        "may_rule": sees(look.frame.visitor, rule_effect),
        "listing": look.table(list_effects, found),
    }


DOUBTS = HandPage(path="effects", title="Effects in doubt", fill=fill, needs=list_effects)
