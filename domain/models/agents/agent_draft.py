"""Whether an agent may save a draft in a thread, and what becomes of a draft that the thread has."""

from enum import StrEnum

from domain.jobs.failures import Invalid
from domain.mail.correspondence import DRAFT_OUT, SETTLED, EmailState
from domain.mail.thread_plan import DraftStanding

HAS_DRAFT = "has a draft already, and a second one would confuse its owner"
PERSONS_DRAFT = "has a draft that its owner worked on"
IN_DOUBT = "may have a draft that is being looked for"

_PERSONS = frozenset({DraftStanding.EDITED, DraftStanding.INSTRUCTED, DraftStanding.UNREAD})
"""A person's words are in it, or may be."""


class RecordStep(StrEnum):
    """What is done with a thread's record before the draft is made."""

    KEEP = "keep"
    """It waits for a draft, or an earlier attempt's draft of this very call is in it."""
    REOPEN = "reopen"
    """It is settled, and becomes pending again."""


def plan_record(state: EmailState, *, is_own: bool, is_in_doubt: bool) -> RecordStep:
    """How the record gets ready for a draft; raises `Invalid` with what the model is told when there can be none.

    `is_own`: the record names the draft of this very call. `is_in_doubt`: the mailbox may have a draft that the
    record does not know.
    """
    if is_own:
        return RecordStep.KEEP
    if state in DRAFT_OUT:
        raise Invalid("thread", HAS_DRAFT)
    if is_in_doubt:
        raise Invalid("thread", IN_DOUBT)
    return RecordStep.REOPEN if state in SETTLED else RecordStep.KEEP


def is_discarded(standing: DraftStanding) -> bool:
    """Whether the old draft of a record that is opened again is thrown away first; raises `Invalid` for a person's."""
    if standing in _PERSONS:
        raise Invalid("thread", PERSONS_DRAFT)
    return standing is DraftStanding.UNTOUCHED
