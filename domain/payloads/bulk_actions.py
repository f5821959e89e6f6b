"""The payload of the bulk actions' family."""

from uuid import UUID

from domain.jobs.uniqueness import while_queued
from domain.payloads.payload import Payload


class RunBulkActionPayload(Payload, job_type="bulk_actions.run", unique=while_queued("bulk_id"), serial_by="bulk_id"):
    """Which bulk action goes on; its row says where."""

    bulk_id: UUID
