"""A question to a person: what is asked beside what led to it, how it is taken back, and what silence means."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from domain.approvals.decision import ApprovalState
from domain.mail.actions.kinds import Inverse
from gateway.console.derived import done_of, values_href
from gateway.console.frame import sees
from gateway.console.pages import HandPage, Look
from gateway.console.pages.facts import Fact, id_of
from gateway.console.shown import entries_of, in_words
from operations.approvals.approvals import AskedApprovalView, EvidenceView, approve, read_approval
from operations.workflows.runs import show_run

TONES = {ApprovalState.WAITING: "warn", ApprovalState.APPROVED: "good", ApprovalState.DENIED: "bad"}


def fill(look: Look) -> Mapping[str, Any]:
    """The question that the address names."""
    found = look.call(read_approval, id_of(look.asked, "approval_id"))
    things, now = look.frame.things, datetime.now(UTC)
    waits = found.state is ApprovalState.WAITING
    is_over = waits and found.expires_at is not None and found.expires_at <= now
    return {
        "found": found,
        "title": found.title[:1].upper() + found.title[1:],
        "state": "expires now" if is_over else in_words(str(found.state)),
        "tone": TONES.get(found.state, ""),
        "asked": [Fact(name, str(text)) for name, text in found.question.items()],
        "evidence": _evidence(found.evidence),
        "inverse": _inverse(found),
        "standing": _silence(found, now) if waits else found.outcome,
        "run_href": things.page(show_run, {"run_id": found.node.run_id}, found.org_id) if found.node else None,
        "may_decide": waits and not is_over and sees(look.frame.visitor, approve),
        "entries": [one for one in entries_of(found, things) if one.name not in {"question", "evidence"}],
        "values_href": values_href(look.request, look.frame, read_approval),
        "done": done_of(look.request, read_approval),
    }


def _evidence(found: EvidenceView | None) -> list[Fact]:
    if found is None:
        return []
    said = [Fact("Decided by", in_words(str(found.source)) + (f" ({found.model})" if found.model else ""))]
    if found.rules:
        said.append(Fact("Rules", ", ".join(found.rules)))
    said += [
        Fact("It is", in_words(str(found.classification))),
        Fact("Sureness", f"{found.confidence:.0%}"),
        Fact("Reason", str(found.rationale)),
    ]
    if found.caution:
        said.append(Fact("Caution", "the mail looked like an attempt to steer the model"))
    return said


def _inverse(found: AskedApprovalView) -> str:
    if found.action is None:
        return "The run goes on; what its next nodes do is theirs to take back."
    if found.action.inverse is Inverse.NONE:
        return "It cannot be taken back once it is done."
    return f"It can be taken back: by {in_words(str(found.action.inverse))}."


def _silence(found: AskedApprovalView, now: datetime) -> str:
    """What happens if nobody answers."""
    if found.expires_at is None:
        return "It waits until somebody answers."
    left = found.expires_at - now
    hours = max(0, round(left.total_seconds() / 3600))
    end = f"{found.expires_at:%Y-%m-%d %H:%M} UTC"
    when = f"within {hours} hours, until {end}" if hours > 1 else f"until {end}"
    follows = "the node has failed" if found.action is None else "it is never executed"
    return f"If nobody answers {when}, {follows}."


APPROVAL = HandPage(path="approvals/show", title="Approval", fill=fill, asks=("approval_id",), needs=read_approval)
