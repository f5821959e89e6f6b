"""Whether the process lives, and whether it can do its work."""

from fastapi import APIRouter, Request, Response, status

from domain.jobs.job import JsonObject
from gateway.http.resources import resources_of

router = APIRouter()


@router.get("/healthz")
async def healthz() -> JsonObject:
    """The process answers; nothing else is asked. Needs no thread, of which busy requests may hold all."""
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(request: Request, response: Response) -> JsonObject:
    """Both roles can write, the schema is this release's, the catalogue is known; 503 names what is not so."""
    checks = await resources_of(request).readiness.checks()
    ready = all(check.ok for check in checks)
    if not ready:
        response.status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    return {
        "status": "ok" if ready else "not ready",
        "checks": {check.name: {"ok": check.ok, "finding": check.finding} for check in checks},
    }
