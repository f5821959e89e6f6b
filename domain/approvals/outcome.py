"""How a question ended, and why a choice about it does not count: the same words at every entry point."""

from collections.abc import Mapping

from domain.approvals.decision import Refusal
from domain.approvals.question import one_line
from domain.mail.actions.status import ActionStatus

OUTCOMES: Mapping[ActionStatus, str] = {
    ActionStatus.APPROVED_PENDING: "It waits for a decision",
    ActionStatus.QUEUED: "It goes ahead without a decision",
    ActionStatus.APPROVED: "Approved",
    # What became of it since is the action's story. A person decided so.
    ActionStatus.EXECUTING: "Approved",
    ActionStatus.DONE: "Approved",
    ActionStatus.FAILED: "Approved",
    ActionStatus.UNDONE: "Approved",
    ActionStatus.DENIED: "Denied",
    ActionStatus.EXPIRED: "Expired: nobody decided in time. It is not executed.",
    ActionStatus.CANCELED: "Canceled, and not executed",
}
"""By the state in which the action is by now."""

WORDS: Mapping[Refusal, str] = {
    Refusal.NOT_HERE: "Nothing can be decided here with this button.",
    Refusal.NOT_AN_APPROVER: "You may not decide about this. Ask an owner of the org to make you an approver.",
    Refusal.DECIDED: "This was decided already.",
    Refusal.ENDED: "This waits for no decision any more.",
    Refusal.EXPIRED: "The time to decide is over. It is not executed.",
}

_WITH_OUTCOME = frozenset({Refusal.DECIDED, Refusal.ENDED})


def outcome_of(state: ActionStatus, approver: str | None, reason: str | None) -> str:
    """How the question ended, on one line."""
    by = f" by {one_line(approver, 100)}" if approver and state is not ActionStatus.CANCELED else ""
    if state is ActionStatus.EXPIRED and by:
        return f"Approved{by}, but not begun in time. It is not executed."
    return f"{OUTCOMES[state]}{by}" + (f": {one_line(reason)}" if reason else "")


def refusal_words(refusal: Refusal, outcome: str) -> str:
    """Why a choice does not count, with how the question ended where whoever chose may know it."""
    return f"{WORDS[refusal]} {outcome}" if refusal in _WITH_OUTCOME else WORDS[refusal]
