"""Whether the process lives, and whether it can do its work."""

from fastapi import APIRouter, Request, Response, status

from domain.jobs.job import JsonObject
from domain.payloads.gmail import SyncPayload
from gateway.resources import resources_of
from storage.postgres.readiness import database_checks

router = APIRouter()

NEEDED_JOB_TYPES = (SyncPayload.declaration.job_type,)
"""What the gateway enqueues; a catalogue without it would make every push come again."""


@router.get("/healthz")
def healthz() -> JsonObject:
    """The process answers; nothing else is asked."""
    return {"status": "ok"}


@router.get("/readyz")
def readyz(request: Request, response: Response) -> JsonObject:
    """Both roles reach the database, the schema is this release's, the catalogue is known; 503 names what is not so."""
    resources = resources_of(request)
    checks = database_checks(resources.database, NEEDED_JOB_TYPES)
    ready = all(check.ok for check in checks)
    if not ready:
        response.status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    return {
        "status": "ok" if ready else "not ready",
        "checks": {check.name: {"ok": check.ok, "finding": check.finding} for check in checks},
    }
