"""A job as an HTTP client asks for it: the job contract without what the gateway knows by itself."""

import hashlib
import json
from typing import Self
from uuid import UUID

from pydantic import Field

from domain.jobs.contract import AskedJob, Instant
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject, NewJob, Origin

KEY_FIELD = "idempotency_key"


class JobRequest(AskedJob):
    """One job that is to be enqueued; org, actor, request and trace come from the key and the headers."""

    org_id: UUID | None = Field(None, description="The org of the key, which is meant without it, too.")
    run_at: Instant | None = None
    idempotency_key: str | None = Field(None, min_length=1, max_length=400)

    @classmethod
    def parse(cls, document: object, header_key: str | None = None) -> Self:
        """Read a request; raises `Invalid` with the first offending field and the reason.

        The key may be in the header `Idempotency-Key`, in the document, or in both when they are equal.
        """
        if not isinstance(document, dict):
            raise Invalid("document", "is no JSON object")
        if header_key is not None:
            if document.get(KEY_FIELD, header_key) != header_key:
                raise Invalid(KEY_FIELD, "differs from the header Idempotency-Key")
            document = {**document, KEY_FIELD: header_key}
        return super().parse(document)

    def new_job(self, org_id: UUID, origin: Origin, *, is_checked: bool) -> NewJob:
        """The request as the ledger takes it; `is_checked` says whether its payload stands as its class writes it.

        Raises `Invalid` for a request that names another org than the caller's.
        """
        if self.org_id not in {None, org_id}:
            raise Invalid("org_id", "is not the org of the key")
        return self.job_for(org_id, origin)._replace(
            idempotency_key=self.idempotency_key, run_at=self.run_at, is_checked=is_checked
        )


def fingerprint(document: JsonObject) -> bytes:
    """What two requests with one idempotency key must have in common: everything that they ask for, but the key.

    Order and white space do not count. Of the document as it came, so that a later release with other defaults still
    knows the request again.
    """
    asked = {name: value for name, value in document.items() if name != KEY_FIELD}
    return hashlib.sha256(json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()).digest()
