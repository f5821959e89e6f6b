"""One job: why it is where it is, its attempts as a picture, what it did outside, and what can be done with it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from domain.jobs.failures import Gone
from domain.jobs.job import State
from domain.orgs.privacy.redaction import redact_document
from gateway.console.derived import values_href
from gateway.console.frame import VALUES
from gateway.console.pages import HandPage, Look
from gateway.console.pages.facts import Deed, Fact, deed_of, id_of
from gateway.console.pages.jobs.letter import event_fact
from gateway.console.pages.jobs.waterfall import attempts_of, drawn
from gateway.console.shown import TONES, Shown, at, entries_of, in_json, money
from gateway.console.things import AnyOperation
from operations.jobs.dead_letters import read_dead_letter
from operations.jobs.jobs import (
    JobTimeline,
    JobView,
    cancel_job,
    explain_job,
    list_children,
    read_job,
    retry_job,
    show_job,
)
from operations.jobs.mends import mend_job, read_replay_plan
from operations.pages import Window
from operations.search import search

APART = frozenset({
    "job id", "job type", "state", "payload", "output", "progress", "error", "parent id", "replay of", "correlation id",
    "request id", "left out", "attempt", "max attempts",
})  # fmt: skip
"""Fields that the page shows in a part of their own."""
ADVICE: Mapping[str, str] = {
    State.FAILED: "Look at the attempt that failed. Mend the cause and retry it, or mend its payload.",
    State.CANCELED: "Retry it where it is wanted after all.",
}
"""What to do about a job without a dead letter."""
SHOWN = 20
"""Children on the page; all of them have a page of their own."""


def fill(look: Look) -> Mapping[str, Any]:
    """The page of a job: of the org alone for an operator of some orgs, who sees no claims of the fleet."""
    job_id = id_of(look.asked, "job_id")
    timeline = look.call(show_job, job_id) if look.may(show_job) else None
    try:
        view, why = look.call(read_job, job_id), look.call(explain_job, job_id)
    except Gone:
        if timeline is None:
            raise
        view, why = None, None
    now = datetime.now(UTC)
    known: dict[str, Any] = redact_document(timeline.model_dump(mode="json", warnings=False)) if timeline else {}
    row = known.get("job") or {}
    state = view.state if view else ""
    letter = known.get("dead_letter") or {}
    events = known.get("events") or []
    attempts = attempts_of(
        events, known.get("steps") or [], known.get("effects") or [], is_waiting=state == State.QUEUED
    )
    is_over = view is None or State(state).final
    return {
        "job_id": job_id,
        "job_type": view.job_type if view else str(letter.get("job_type", "a job past its retention")),
        "state": state or "past its retention",
        "tone": TONES.get(state, ""),
        "attempt": f"attempt {view.attempt} of {view.max_attempts}" if view else "",
        "why": why,
        "is_live": not is_over and not look.request.query_params.get(VALUES),
        "facts": [one for one in entries_of(view, look.frame.things) if one.name not in APART] if view else [],
        "documents": _documents(view),
        "error": _error(view, letter),
        "letter_href": look.href(read_dead_letter, letter_id=letter["id"]) if letter else None,
        "lineage": _lineage(look, view),
        "attempts": attempts,
        "picture": drawn(attempts, now) if attempts else None,
        "cost": money(int(row["cost_microcents"])) if row.get("cost_microcents") else "",
        "effects": [_effect(one) for one in known.get("effects") or []],
        "children": _children(look, job_id, timeline),
        "children_href": look.href(list_children, job_id=job_id),
        "events": [event_fact(one) for one in events],
        "deeds": _deeds(look, job_id, state),
        "more": known.get("more") or [],
        "values_href": values_href(look.request, look.frame, read_job) if view else None,
        "now": now,
    }


def _documents(view: JobView | None) -> Mapping[str, Shown]:
    said = view.model_dump(mode="json", warnings=False) if view else {}  # shapes are in the place of values
    found = {name: redact_document(said[name]) for name in ("payload", "progress", "output") if said.get(name)}
    return {name: in_json(value) for name, value in found.items()}


def _error(view: JobView | None, letter: Mapping[str, Any]) -> Mapping[str, str] | None:
    """What went wrong, and what to do about it."""
    error = (view.error if view else None) or letter.get("error")
    if not error:
        return None
    advice = letter.get("plan") if letter.get("state") == "open" else ADVICE.get(view.state if view else "", "")
    return {"code": str(error.get("code", "")), "reason": str(error.get("reason", "")), "advice": str(advice or "")}


def _lineage(look: Look, view: JobView | None) -> Sequence[Fact]:
    """Where the job comes from; a request or correlation of its own says nothing."""
    if view is None:
        return []
    jobs = {"Enqueued by the job": view.parent_id, "Does again the job": view.replay_of}
    ids = {"Correlation": view.correlation_id, "Request": view.request_id}
    return [
        *(Fact(name, str(one), look.frame.things.address("job_id", str(one), {})) for name, one in jobs.items() if one),
        *(Fact(name, one, look.href(search, q=one)) for name, one in ids.items() if one and one != str(view.job_id)),
    ]


def _effect(one: Mapping[str, Any]) -> Fact:
    error = one.get("error") or {}
    said = [str(one["strategy"]).replace("_", " "), f"last seen {at(one['last_seen_at'])} UTC"]
    said += [str(error["reason"])] if error.get("reason") else []
    status = str(one["status"])
    return Fact(str(one["key"]), "; ".join(said), state=status, more=in_json(one["result"]) if one["result"] else None)


def _children(look: Look, job_id: UUID, timeline: JobTimeline | None) -> Sequence[Fact]:
    if timeline is None:
        shown = [
            (one.job_id, one.job_type, one.state)
            for one in look.call(list_children, job_id, window=Window(SHOWN)).items
        ]
    else:
        shown = [(one["job_id"], one["job_type"], one["state"]) for one in timeline.children[:SHOWN]]
    address = look.frame.things.address
    return [Fact(str(kind), str(one), address("job_id", str(one), {}), str(state)) for one, kind, state in shown]


def _deeds(look: Look, job_id: UUID, state: str) -> Sequence[Deed]:
    """What can be done with a job in that state."""
    ended = state in {State.FAILED, State.DEAD, State.CANCELED}
    possible: Sequence[tuple[AnyOperation, bool]] = (
        (retry_job, ended),
        (mend_job, ended or state == State.QUEUED),
        (read_replay_plan, ended),
        (cancel_job, bool(state) and not State(state).final),
    )
    return [deed_of(look, one, job_id=job_id) for one, can in possible if can and look.may(one)]


JOB = HandPage(path="jobs/show", title="Job", fill=fill, needs=read_job, asks=("job_id",))
READ = replace(JOB, path="jobs/read")
"""Where a deed leads that makes a job."""
