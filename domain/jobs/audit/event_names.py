"""Names of a source document for events of the audit log, shown beside ours (docs: seeds.md)."""

from collections.abc import Mapping, Sequence

from domain.jobs.job import JsonObject

OTHER_EVENT_NAMES: Mapping[str, str] = {"email.sent": "EMAIL_SENT", "job.deadlettered": "JOB_EXHAUSTED_RETRIES"}
"""An event's own name is a word, a dot and a word."""


def with_other_names(events: Sequence[JsonObject]) -> list[JsonObject]:
    """Events as they are shown: one that has another name says so."""
    return [
        one | {"known_as": OTHER_EVENT_NAMES[one["event"]]} if one["event"] in OTHER_EVENT_NAMES else one
        for one in events
    ]
