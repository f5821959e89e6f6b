"""The payloads of the dead-letter family."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from domain.jobs.contract import Instant
from domain.jobs.uniqueness import for_ttl
from domain.payloads.payload import Payload

LONGEST_SUBJECT = 200
MOST_COUNTED = 1_000_000_000
LONGEST_REFERENCE = 100
LONGEST_DETAIL = 500
"""An alert is read on a telephone; who wants more looks in the ledger."""


class QuarantinePayload(Payload, job_type="deadletter.quarantine"):
    """Which job died. The ledger enqueues it once with the dead letter, so it is not unique: no guard can be locked."""

    job_id: UUID


class SendAlertPayload(Payload, job_type="deadletter.send_alert", unique=for_ttl("kind", "subject", "since")):
    """What happened. An alert is raised once; how many it counts does not make it another."""

    kind: Literal[
        "dead_letter", "dead_letters", "consent", "consent_back", "credentials", "provider", "effects", "refused"
    ]
    subject: Annotated[str, Field(max_length=LONGEST_SUBJECT)]
    since: Annotated[Instant, Field(examples=["2026-11-24T09:00:00Z"])]
    count: Annotated[int, Field(ge=1, le=MOST_COUNTED)] = 1
    detail: Annotated[str, Field(max_length=LONGEST_DETAIL)] = ""
    reference: Annotated[str, Field(max_length=LONGEST_REFERENCE)] = ""
