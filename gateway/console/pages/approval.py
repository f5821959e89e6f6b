"""A question to a person: what is asked beside what led to it, how it is taken back, and what silence means."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from domain.approvals.decision import ApprovalState
from domain.jobs.failures import Invalid
from domain.mail.actions.kinds import Inverse
from gateway.console.derived import done_of, values_href
from gateway.console.frame import sees
from gateway.console.pages import HandPage, Look
from gateway.console.shown import Entry, entries_of, in_words
from operations.approvals.approvals import AskedApprovalView, EvidenceView, approve, read_approval
from operations.operation import checked
from operations.workflows.runs import show_run


@dataclass(frozen=True, slots=True)
class Words:
    """A fact, and what it is called."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ApprovalShown:
    """What the page of an approval shows."""

    approval_id: str
    org_id: str
    title: str
    state: str
    tone: str
    asked: Sequence[Words]
    evidence: Sequence[Words]
    inverse: str
    silence: str
    run_href: str | None
    may_decide: bool
    outcome: str
    entries: Sequence[Entry]
    values_href: str | None
    done: str | None


TONES = {ApprovalState.WAITING: "warn", ApprovalState.APPROVED: "good", ApprovalState.DENIED: "bad"}


def fill(look: Look) -> ApprovalShown:
    """The question that the address names."""
    if "approval_id" not in look.asked:
        raise Invalid("approval_id", "name the question; the list of approvals has all that wait")
    found = look.call(read_approval, **checked(read_approval.parameters, look.asked))
    things, now = look.frame.things, datetime.now(UTC)
    waits = found.state is ApprovalState.WAITING
    is_over = waits and found.expires_at is not None and found.expires_at <= now
    return ApprovalShown(
        str(found.approval_id),
        str(found.org_id),
        found.title[:1].upper() + found.title[1:],
        "expires now" if is_over else in_words(str(found.state)),
        TONES.get(found.state, ""),
        [Words(name, str(text)) for name, text in found.question.items()],
        _evidence(found.evidence),
        _inverse(found),
        _silence(found, now),
        things.page(show_run, {"run_id": found.node.run_id}, found.org_id) if found.node else None,
        waits and not is_over and sees(look.frame.visitor, approve),
        "" if waits else found.outcome,
        [one for one in entries_of(found, things) if one.name not in {"question", "evidence"}],
        values_href(look.request, look.frame, read_approval),
        done_of(look.request, read_approval),
    )


def _evidence(found: EvidenceView | None) -> list[Words]:
    if found is None:
        return []
    said = [Words("Decided by", in_words(str(found.source)) + (f" ({found.model})" if found.model else ""))]
    if found.rules:
        said.append(Words("Rules", ", ".join(found.rules)))
    said += [
        Words("It is", in_words(str(found.classification))),
        Words("Sureness", f"{found.confidence:.0%}"),
        Words("Reason", str(found.rationale)),
    ]
    if found.caution:
        said.append(Words("Caution", "the mail looked like an attempt to steer the model"))
    return said


def _inverse(found: AskedApprovalView) -> str:
    if found.action is None:
        return "The run goes on; what its next nodes do is theirs to take back."
    if found.action.inverse is Inverse.NONE:
        return "It cannot be taken back once it is done."
    return f"It can be taken back: by {in_words(str(found.action.inverse))}."


def _silence(found: AskedApprovalView, now: datetime) -> str:
    """What happens if nobody answers."""
    if found.state is not ApprovalState.WAITING:
        return ""
    if found.expires_at is None:
        return "It waits until somebody answers."
    left = found.expires_at - now
    hours = max(0, round(left.total_seconds() / 3600))
    end = f"{found.expires_at:%Y-%m-%d %H:%M} UTC"
    when = f"within {hours} hours, until {end}" if hours > 1 else f"until {end}"
    follows = "the node has failed" if found.action is None else "it is never executed"
    return f"If nobody answers {when}, {follows}."


APPROVAL = HandPage(
    path="approvals/show",
    title="Approval",
    shown=ApprovalShown,
    fill=fill,
    asks=("approval_id",),
    needs=read_approval,
)
