"""The payloads of the dead-letter family."""

from uuid import UUID

from domain.jobs.uniqueness import for_ttl
from domain.payloads.payload import Payload


class QuarantinePayload(Payload, job_type="deadletter.quarantine", unique=for_ttl("job_id")):
    """Which job died."""

    job_id: UUID
