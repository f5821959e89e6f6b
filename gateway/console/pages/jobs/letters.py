"""Dead letters: in groups by what went wrong, with what can be done to all of a group at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from domain.instants import written
from domain.jobs.failures import Invalid
from domain.jobs.replays.bulk_filter import BulkVerb
from gateway.console.derived import Listing, Step, step_to
from gateway.console.frame import CURSOR
from gateway.console.pages import HandPage, Look
from gateway.console.pages.facts import at
from operations.jobs.bulk_actions import preview_bulk_action
from operations.jobs.dead_letters import LetterGroup, LetterState, list_dead_letters, list_letter_groups
from operations.pages import Window

SHOWN = 30
ALL_OF_THEM = (BulkVerb.REPLAY, BulkVerb.MEND, BulkVerb.DISCARD)


@dataclass(frozen=True, slots=True)
class Group:
    """A group of open letters: its page, and what can be done to all of it."""

    group: LetterGroup
    first_at: str
    last_at: str
    href: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class LettersPage:
    """What the page of dead letters shows."""

    groups: Sequence[Group]
    groups_back_to: str | None
    state: LetterState
    states: Sequence[LetterState]
    chosen: str
    """Which group is shown; empty for all."""
    everything_href: str
    listing: Listing
    verbs: Sequence[Step]
    """What can be done to all that are listed: the preview of each."""


def fill(look: Look) -> LettersPage:
    """The groups, and below them the letters of one or of all."""
    try:
        state = LetterState(look.asked.get("state", LetterState.OPEN))
    except ValueError:
        raise Invalid("state", f"is one of {', '.join(LetterState)}") from None
    only = {name: look.asked[name] for name in ("job_type", "error_code") if name in look.asked}
    groups = look.call(list_letter_groups)
    window = Window(SHOWN, look.request.query_params.get(CURSOR))
    found = look.call(list_dead_letters, window=window, state=state, **only)
    return LettersPage(
        groups=[_group(look, one, only) for one in groups.items],
        groups_back_to=written(groups.looked_back_to) if groups.looked_back_to else None,
        state=state,
        states=list(LetterState),
        chosen=" of ".join(only[name] for name in ("error_code", "job_type") if name in only),
        everything_href=look.href(list_dead_letters),
        listing=look.table(list_dead_letters, found),
        verbs=_verbs(look, only) if state is LetterState.OPEN and found.items else [],
    )


def _group(look: Look, one: LetterGroup, only: dict[str, str]) -> Group:
    named = {"error_code": one.error_code, "job_type": one.job_type}
    return Group(one, at(one.first_at), at(one.last_at), look.href(list_dead_letters, **named), named == only)


def _verbs(look: Look, only: dict[str, str]) -> Sequence[Step]:
    if not look.may(preview_bulk_action):
        return []
    steps = ((verb, step_to(look.frame, preview_bulk_action, {"verb": verb.value, **only})) for verb in ALL_OF_THEM)
    return [
        replace(step, words=f"{verb.value.capitalize()} …", takes_away=verb is BulkVerb.DISCARD) for verb, step in steps
    ]


LETTERS = HandPage(
    path="deadletters", title="Dead letters", shown=LettersPage, fill=fill, needs=list_dead_letters,
    asks=("state", "job_type", "error_code"),
)  # fmt: skip
