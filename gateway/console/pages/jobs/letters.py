"""Dead letters: in groups by what went wrong, with what can be done to all of a group at once."""

from collections.abc import Mapping
from typing import Any

from domain.instants import written
from domain.jobs.failures import Invalid
from domain.jobs.replays.bulk_filter import BulkVerb
from gateway.console.pages import HandPage, Look
from operations.jobs.bulk_actions import preview_bulk_action
from operations.jobs.dead_letters import LetterState, list_dead_letters, list_letter_groups

SHOWN = 30
VERBS = (BulkVerb.REPLAY, BulkVerb.MEND, BulkVerb.DISCARD)


def fill(look: Look) -> Mapping[str, Any]:
    """The groups, and below them the letters of one or of all; what can be done to all that are listed, or to some."""
    try:
        state = LetterState(look.asked.get("state", LetterState.OPEN))
    except ValueError:
        raise Invalid("state", f"is one of {', '.join(LetterState)}") from None
    only = {name: look.asked[name] for name in ("job_type", "error_code") if name in look.asked}
    groups = look.call(list_letter_groups)
    found = look.call(list_dead_letters, look.window(SHOWN), state=state, **only)
    named = [{"error_code": one.error_code, "job_type": one.job_type} for one in groups.items]
    can_act = state is LetterState.OPEN and found.items and look.may(preview_bulk_action)
    return {
        "groups": [
            {"group": one, "href": look.href(list_dead_letters, **its), "is_chosen": its == only}
            for one, its in zip(groups.items, named, strict=True)
        ],
        "groups_back_to": written(groups.looked_back_to) if groups.looked_back_to else None,
        "state": state,
        "states": list(LetterState),
        "only": only,
        "chosen": " of ".join(only[name] for name in ("error_code", "job_type") if name in only),
        "everything_href": look.href(list_dead_letters),
        "listing": look.table(list_dead_letters, found),
        "verbs": VERBS if can_act else (),
    }


LETTERS = HandPage(
    path="deadletters", title="Dead letters", fill=fill, needs=list_dead_letters,
    asks=("state", "job_type", "error_code"),
)  # fmt: skip
