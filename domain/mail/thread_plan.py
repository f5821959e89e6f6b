"""What is to be done on a thread, decided before any of it is done: labels, record, drafts, actions.

The mail families read, ask one of the functions here for a plan, and carry the plan out. Nothing here reads or
writes anything, so every rule about drafts and people's words can be tested as a function.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from domain.mail.correspondence import (
    DRAFT_OUT,
    EmailEvent,
    EmailState,
    LabelPlan,
    LabelRole,
    label_plan,
    may_rework,
    move,
)
from domain.mail.triage.automation import Automation, replies_allowed
from domain.mail.triage.automation_signals import AutomationKind
from domain.mail.triage.classification import Decision
from domain.mail.triage.safety import CheckedAction, SafetyEnforcer

NO_LABELS = LabelPlan()
WITHDRAWN = LabelPlan(remove=label_plan(EmailEvent.CLASSIFIED).add)
SHOWN = replace(WITHDRAWN, add=frozenset({LabelRole.OUTBOX}))
"""The labels of a thread with a draft, whoever made the draft."""
FOR_ITS_PERSON = frozenset({LabelRole.ACTION_REQUIRED})
"""What shows that nobody could say what a message wants."""
LEFT_INBOX = "the message has left the inbox"
UNDECIDED = "nobody could say what the e-mail wants: its person has to look"
PERSONS_DRAFT = "a draft that the person worked on is still there"
DRAFT_GONE = "the draft is no longer there: it was sent or thrown away"
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
    INSTRUCTED = "instructed"
    """Its words are still the machine's, and above them stands what a person asks of it."""
    EDITED = "edited"
    """A person's words are in it."""


_OURS = frozenset({DraftStanding.NONE, DraftStanding.UNTOUCHED})
"""No draft, or one that the machine may take away."""


@dataclass(frozen=True, slots=True)
class ThreadBefore:
    """A thread as it stands when a plan is made; `state` is None where the thread has no record."""

    state: EmailState | None = None
    draft: DraftStanding = DraftStanding.NONE
    in_inbox: bool = True
    """Whether the message that the plan is about is in the inbox; its person takes it out who is done with it."""
    left_to_person: bool = False
    """Whether the message was undecided before, and its thread shows that."""
    by_hand: bool = False
    """Whether the thread waits for a draft that was ordered by hand: a label on it may be the order, which stays."""


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
    rewrite_draft: bool = False
    """Have the machine draft written anew."""
    actions: tuple[CheckedAction, ...] = ()
    """The actions that the decision asks for, each checked by the `SafetyEnforcer`."""

    def after(self, before: ThreadBefore) -> ThreadBefore:
        """The thread as it stands once the plan is carried out."""
        draft = DraftStanding.NONE if self.discard_draft else before.draft
        return replace(before, state=self.record or before.state, draft=draft)

    def acts_like(self, other: "ThreadPlan") -> bool:
        """Whether both do the same on the thread; what they write in the record may differ."""
        return (self.labels, self.discard_draft, self.order_draft, self.rewrite_draft) == (
            other.labels,
            other.discard_draft,
            other.order_draft,
            other.rewrite_draft,
        )


def plan_thread(
    before: ThreadBefore, decision: Decision, automation: Automation, safety: SafetyEnforcer = DEFAULT_SAFETY
) -> ThreadPlan:
    """Plan what a decision about a new message does to its thread.

    A draft is ordered where the decision wants one, replies are allowed, and no other draft is in the way. The
    untouched draft of a finished thread makes way for the new one; a draft that nobody has read counts as a person's.
    A message that was not decided is left to its person, and its thread shows it until a later decision.
    """
    actions = safety.check(decision)
    obstacle = _why_no_draft(before, decision, automation)
    if obstacle is not None:
        record = EmailState.SKIPPED if before.state is None else None
        labels = _labels_without_draft(before, decision, automation, obstacle)
        return ThreadPlan(obstacle, labels=labels, record=record, actions=actions)
    labels = label_plan(EmailEvent.CLASSIFIED)
    return ThreadPlan(
        "the e-mail needs a reply",
        labels=replace(labels, remove=FOR_ITS_PERSON) if before.left_to_person else labels,
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

    A thread without a record only gets its labels. An event that the record's state does not know changes nothing. A
    draft that nobody waits for any more, or whose person is done with the thread, is discarded, as long as its words
    are the machine's.
    """
    if before.state is None:
        return ThreadPlan(reason, labels=label_plan(event))
    after = move(before.state, event)
    untouched = before.draft is DraftStanding.UNTOUCHED
    if after is None:
        nobody_waits = event is EmailEvent.DRAFT_WRITTEN and untouched
        return ThreadPlan(f"the e-mail is {before.state}", discard_draft=nobody_waits)
    record = None if after is before.state else after
    discard = event in {EmailEvent.DONE, EmailEvent.SKIPPED} and untouched
    return ThreadPlan(reason, labels=label_plan(event), record=record, discard_draft=discard)


def plan_by_hand(before: ThreadBefore) -> ThreadPlan:
    """Plan a draft that a Needs Response label or a service orders.

    A draft is ordered unless one is there already: the machine's, or one that the person has worked on. The untouched
    draft of a finished thread makes way. A draft that nobody has read counts as a person's.
    """
    if before.state in DRAFT_OUT:
        if before.draft is DraftStanding.NONE:
            return ThreadPlan(DRAFT_GONE)
        return ThreadPlan("the thread has a machine draft", labels=SHOWN)
    if before.draft not in _OURS:
        return ThreadPlan(PERSONS_DRAFT, labels=label_plan(EmailEvent.REWORKS_EXHAUSTED))
    begins = before.state is not EmailState.PENDING
    return ThreadPlan(
        "the person asked for a draft by hand",
        record=EmailState.PENDING if begins else None,
        discard_draft=before.draft is DraftStanding.UNTOUCHED,
        order_draft=True,
    )


def plan_rework(before: ThreadBefore, reworks_done: int) -> ThreadPlan:
    """Plan what a person orders who puts Rework on a thread; `before.draft` must have been read.

    Without a draft of ours there is nothing to rework, and the person gets a first one. After the third rework, where a
    person's words are in the draft, and where the thread is finished, it is left to its person.
    """
    if before.draft is DraftStanding.NONE:
        is_first = before.state not in DRAFT_OUT
        return ThreadPlan("there is no machine draft to rework" if is_first else DRAFT_GONE, order_draft=is_first)
    if before.state not in DRAFT_OUT:
        return ThreadPlan("the draft was left to its person", labels=label_plan(EmailEvent.REWORKS_EXHAUSTED))
    if not may_rework(reworks_done):
        return plan_event(before, EmailEvent.REWORKS_EXHAUSTED, f"the draft was reworked {reworks_done} times")
    if before.draft in {DraftStanding.EDITED, DraftStanding.UNREAD}:
        return plan_event(before, EmailEvent.REWORK_REFUSED, "the draft holds a person's own words")
    asked = plan_event(before, EmailEvent.REWORK_ASKED, "the person asked for another draft")
    return replace(asked, rewrite_draft=True)


def _labels_without_draft(before: ThreadBefore, decision: Decision, automation: Automation, obstacle: str) -> LabelPlan:
    is_undecided = decision.needs_review and automation.kind is not AutomationKind.SELF
    if is_undecided and before.in_inbox:
        return LabelPlan(add=FOR_ITS_PERSON)
    # An attempt that planned before the message left the inbox may have put a label on.
    may_be_ours = obstacle == LEFT_INBOX and not before.by_hand
    remove = WITHDRAWN.remove if may_be_ours else NO_LABELS.remove
    return LabelPlan(remove=remove | FOR_ITS_PERSON if is_undecided or before.left_to_person else remove)


def _why_no_draft(before: ThreadBefore, decision: Decision, automation: Automation) -> str | None:
    """The first reason against a draft, or None."""
    if automation.kind is AutomationKind.SELF:
        return "the mail is the account's own"
    if not replies_allowed(automation):
        return f"the mail is automated ({automation.kind}, {automation.weight})"
    if before.state in DRAFT_OUT:
        return "the thread has a machine draft"
    if decision.needs_review:
        return UNDECIDED
    if not decision.wants_draft:
        return f"the e-mail needs no reply ({decision.classification})"
    return _what_the_person_did(before)


def _what_the_person_did(before: ThreadBefore) -> str | None:
    if not before.in_inbox:
        return LEFT_INBOX
    if before.draft not in _OURS:
        return PERSONS_DRAFT
    return None
