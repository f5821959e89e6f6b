"""Whether the process lives, and whether it can do its work."""

from fastapi import APIRouter, Request, Response, status

from domain.jobs.job import JsonObject
from gateway.http.resources import resources_of
from storage.postgres.readiness import Check

router = APIRouter()


@router.get("/healthz")
async def healthz() -> JsonObject:
    """The process answers; nothing else is asked. Needs no thread, of which busy requests may hold all."""
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(request: Request, response: Response) -> JsonObject:
    """Both roles can write, the schema is this release's, the catalogue is known; 503 names what is not so.

    What else is wrong with the fleet is named under `fleet`, and takes no gateway out of service.
    """
    resources = resources_of(request)
    checks = await resources.readiness.checks()
    ready = all(check.ok for check in checks)
    if not ready:
        response.status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    return {
        "status": "ok" if ready else "not ready",
        "checks": {check.name: _said(check) for check in checks},
        "fleet": {check.name: _said(check) for check in resources.fleet.found},
        "fleet_looked_at": looked_at.isoformat() if (looked_at := resources.fleet.looked_at) else None,
    }


def _said(check: Check) -> JsonObject:
    """A finding, and what to do about it where something is to be done."""
    said: JsonObject = {"ok": check.ok, "finding": check.finding}
    return said | ({"remedy": check.remedy} if check.remedy else {})
