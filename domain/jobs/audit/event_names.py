"""Names of a source document for events of the audit log, shown beside ours (docs: seeds.md)."""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject

OTHER_EVENT_NAMES: Mapping[str, str] = {"email.sent": "EMAIL_SENT", "job.deadlettered": "JOB_EXHAUSTED_RETRIES"}
"""An event's own name is a word, a dot and a word."""

OF_NO_OPERATION = frozenset(
    {
        "account.connected",
        "account.consent_asked",
        "account.consent_refused",
        "artifact.downloaded",
        "artifact.stored",
        "effect.unrecorded",
        "jobs.adopted",
        "notification.refused",
        "operator.looked",
        "org.leaving",
        "org.moved",
        "org.stayed",
        "secret.removed",
        "secret.set",
    }
)
"""Events that neither an operation nor a job type declares: they are written where the thing is kept."""
EVENT_FACTS = frozenset(
    {
        "attempt",
        "bulk_id",
        "cause",
        "claimed_at",
        "dead_letter_id",
        "error",
        "happened",
        "job_type",
        "key",
        "operation",
        "parent_id",
        "plan",
        "reason",
        "replay_job_id",
        "replay_of",
        "run_at",
        "scope",
        "state",
        "until",
        "verb",
        "worker",
    }
)
"""Members of an event's data that the ledger and operators write, and that hold nothing of customers. An operator of
the console sees all others as shapes first."""
MOST_NEAR = 5


def check_event(event: str, known: Collection[str]) -> None:
    """Raise `Invalid` for a name that no event has, with the names that are near it."""
    if event not in known:
        near = get_close_matches(event, sorted(known), n=MOST_NEAR, cutoff=0.5)
        hint = f"near it are {', '.join(near)}" if near else f"such names are {', '.join(sorted(known)[:MOST_NEAR])}"
        raise Invalid("event", f"{event} is the name of no event; {hint}")


def with_other_names(events: Sequence[JsonObject]) -> list[JsonObject]:
    """Events as they are shown: one that has another name says so."""
    return [
        one | {"known_as": OTHER_EVENT_NAMES[one["event"]]} if one["event"] in OTHER_EVENT_NAMES else one
        for one in events
    ]
