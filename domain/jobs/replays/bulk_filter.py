"""What a bulk action does to jobs, to which of them it can be done, and what a person has to say first."""

from collections.abc import Iterable
from enum import StrEnum

from domain.jobs.failures import Invalid
from domain.jobs.job import FINAL, JsonObject, State

CONFIRMED_ABOVE = 1_000
"""So many jobs may be changed by one that has not said how many they are."""
CONFIRMED_BY_ANOTHER_ABOVE = 10_000
"""So many jobs may be changed by one person alone."""


class BulkVerb(StrEnum):
    """What is done to each job."""

    RETRY = "retry"
    REPLAY = "replay"
    CANCEL = "cancel"
    DISCARD = "discard"
    MEND = "mend"

    @property
    def is_of_letters(self) -> bool:
        """Whether it is about open dead letters; otherwise it is about jobs."""
        return self in {BulkVerb.REPLAY, BulkVerb.DISCARD, BulkVerb.MEND}

    @property
    def does_again(self) -> bool:
        """Whether a new job does what the old one was for."""
        return self not in {BulkVerb.CANCEL, BulkVerb.DISCARD}

    @property
    def states(self) -> frozenset[State]:
        """The states of the jobs that it can be done to."""
        if self is BulkVerb.CANCEL:
            return frozenset(State) - FINAL
        return frozenset({State.DEAD}) if self.is_of_letters else FINAL - {State.SUCCEEDED}


def check_states(verb: BulkVerb, states: Iterable[State]) -> None:
    """Raise `Invalid` for a state of jobs that the verb is not done to."""
    for state in set(states) - verb.states:
        possible = ", ".join(sorted(verb.states))
        raise Invalid("state", f"{verb.value} is not done to {state.value} jobs, only to these: {possible}")


def check_patch(verb: BulkVerb, patch: JsonObject | None) -> None:
    """Raise `Invalid` for a mend without a change, and for a change of what is not mended."""
    if verb is BulkVerb.MEND and not patch:
        raise Invalid("patch", "must say what is changed in each payload")
    if verb is not BulkVerb.MEND and patch is not None:
        raise Invalid("patch", f"is for mends: {verb.value} changes no payload")


def needs_number(verb: BulkVerb, matched: int, *, is_all: bool) -> bool:
    """Whether a person has to say how many jobs they mean; `is_all` is whether all that match were counted."""
    return verb is BulkVerb.DISCARD or matched > CONFIRMED_ABOVE or not is_all


def needs_another(matched: int, *, is_all: bool) -> bool:
    """Whether a second person has to let it begin: it is for many jobs, or for more than were counted."""
    return matched > CONFIRMED_BY_ANOTHER_ABOVE or not is_all
