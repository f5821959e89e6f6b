"""The payloads of the audit family: what is to be done stands in the audit log."""

from uuid import UUID

from domain.jobs.uniqueness import while_queued
from domain.payloads.payload import Payload


class EnrichPayload(Payload, job_type="audit.enrich", unique=while_queued()):
    """Nothing: the events of the org that lack details say what is to be done."""


class CatchUpPayload(Payload, job_type="audit.catch_up", unique=while_queued()):
    """After which org to go on; a tick begins with the first."""

    after: UUID | None = None
