"""What is to be done on a thread, decided before any of it is done: labels, record, drafts, actions.

The mail families read, ask one of the two functions here for a plan, and carry the plan out. Nothing here reads or
writes anything, so every rule about drafts and people's words can be tested as a function.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from domain.mail.correspondence import DRAFT_OUT, EmailEvent, EmailState, LabelPlan, label_plan, move
from domain.mail.triage.automation import Automation, replies_allowed
from domain.mail.triage.automation_signals import AutomationKind
from domain.mail.triage.classification import Decision
from domain.mail.triage.safety import CheckedAction, SafetyEnforcer

NO_LABELS = LabelPlan()
WITHDRAWN = LabelPlan(remove=label_plan(EmailEvent.CLASSIFIED).add)
LEFT_INBOX = "the message has left the inbox"
DEFAULT_SAFETY = SafetyEnforcer()
"""Checks by the default policy, where no owner has stored another."""


class DraftStanding(StrEnum):
    """What is known of the machine draft that a thread's record names."""

    NONE = "none"
    """There is none, or it has left the mailbox."""
    UNREAD = "unread"
    """There may be one; nobody has compared its words with ours yet."""
    UNTOUCHED = "untouched"
    """Its words are still the machine's."""
    EDITED = "edited"
    """A person's words are in it."""


@dataclass(frozen=True, slots=True)
class ThreadBefore:
    """A thread as it stands when a plan is made; `state` is None where the thread has no record."""

    state: EmailState | None = None
    draft: DraftStanding = DraftStanding.NONE
    in_inbox: bool = True
    """Whether the message that the plan is about is in the inbox; its person takes it out who is done with it."""


@dataclass(frozen=True, slots=True)
class ThreadPlan:
    """Everything that is to be done on one thread, and why. The parts that are left out change nothing."""

    reason: str
    labels: LabelPlan = NO_LABELS
    record: EmailState | None = None
    """The state of the thread's record afterwards; None leaves the record alone."""
    discard_draft: bool = False
    """Delete the machine draft, whose words are still the machine's."""
    order_draft: bool = False
    """Have a reply drafted."""
    actions: tuple[CheckedAction, ...] = ()
    """The actions that the decision asks for, each checked by the `SafetyEnforcer`."""

    def after(self, before: ThreadBefore) -> ThreadBefore:
        """The thread as it stands once the plan is carried out."""
        draft = DraftStanding.NONE if self.discard_draft else before.draft
        return replace(before, state=self.record or before.state, draft=draft)

    def acts_like(self, other: "ThreadPlan") -> bool:
        """Whether both do the same on the thread; what they write in the record may differ."""
        return (self.labels, self.discard_draft, self.order_draft) == (
            other.labels,
            other.discard_draft,
            other.order_draft,
        )


def plan_thread(
    before: ThreadBefore, decision: Decision, automation: Automation, safety: SafetyEnforcer = DEFAULT_SAFETY
) -> ThreadPlan:
    """Plan what a decision about a new message does to its thread.

    A draft is ordered where the decision wants one, replies are allowed, and no other draft is in the way. The
    untouched draft of a finished thread makes way for the new one; a draft that nobody has read counts as a person's.
    """
    actions = safety.check(decision)
    obstacle = _why_no_draft(before, decision, automation)
    if obstacle is not None:
        record = EmailState.SKIPPED if before.state is None else None
        # An attempt that planned before the message left the inbox may have put the label on.
        labels = WITHDRAWN if obstacle == LEFT_INBOX else NO_LABELS
        return ThreadPlan(obstacle, labels=labels, record=record, actions=actions)
    return ThreadPlan(
        "the e-mail needs a reply",
        labels=label_plan(EmailEvent.CLASSIFIED),
        record=EmailState.PENDING,
        discard_draft=before.draft is DraftStanding.UNTOUCHED,
        order_draft=True,
        actions=actions,
    )


def depends_on_draft(before: ThreadBefore, decision: Decision, automation: Automation) -> bool:
    """Whether somebody has to read the old draft before a plan can be made."""
    if before.draft is not DraftStanding.UNREAD:
        return False
    read = (replace(before, draft=draft) for draft in (DraftStanding.UNTOUCHED, DraftStanding.EDITED))
    untouched, edited = (plan_thread(one, decision, automation) for one in read)
    return untouched != edited


def plan_event(before: ThreadBefore, event: EmailEvent, reason: str) -> ThreadPlan:
    """Plan what an event does to a thread by the table of `correspondence`.

    A thread without a record only gets its labels. An event that the record's state does not know changes nothing; a
    draft that nobody waits for any more is discarded then, as long as its words are the machine's.
    """
    if before.state is None:
        return ThreadPlan(reason, labels=label_plan(event))
    after = move(before.state, event)
    if after is None:
        nobody_waits = event is EmailEvent.DRAFT_WRITTEN and before.draft is DraftStanding.UNTOUCHED
        return ThreadPlan(f"the e-mail is {before.state}", discard_draft=nobody_waits)
    return ThreadPlan(reason, labels=label_plan(event), record=None if after is before.state else after)


def _why_no_draft(before: ThreadBefore, decision: Decision, automation: Automation) -> str | None:
    """The first reason against a draft, or None."""
    if automation.kind is AutomationKind.SELF:
        return "the mail is the account's own"
    if not replies_allowed(automation):
        return f"the mail is automated ({automation.kind}, {automation.weight})"
    if before.state in DRAFT_OUT:
        return "the thread has a machine draft"
    if not decision.wants_draft:
        return f"the e-mail needs no reply ({decision.classification})"
    return _what_the_person_did(before)


def _what_the_person_did(before: ThreadBefore) -> str | None:
    if not before.in_inbox:
        return LEFT_INBOX
    if before.draft in {DraftStanding.EDITED, DraftStanding.UNREAD}:
        return "a draft that the person worked on is still there"
    return None
