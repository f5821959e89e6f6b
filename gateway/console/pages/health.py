"""Health: what is wrong with the fleet and what to do, its runbooks, and when its promises were checked last."""

from collections.abc import Mapping
from typing import Any

from domain.jobs.monitoring.runbooks import ALERTS, runbook_of
from gateway.console.pages import HandPage, Look
from gateway.http.resources import resources_of
from operations.health import list_health_findings
from operations.jobs.jobs import list_jobs
from operations.pages import Window

CHECKS_PROMISES = "maintenance.check_invariants"
CHECKS_SHOWN = 5


def fill(look: Look) -> Mapping[str, Any]:
    """The health of the fleet, as its ledger knows it; and the newest jobs that looked for contradicting rows."""
    findings = look.call(list_health_findings).items
    pattern = resources_of(look.request).settings.runbook_url
    checks = look.call(list_jobs, Window(CHECKS_SHOWN), job_type=[CHECKS_PROMISES])
    return {
        "findings": findings,
        "wrong": sum(not one.ok for one in findings),
        "checks": look.table(list_jobs, checks),
        "runbooks": [(alert, says, runbook_of(alert, pattern)) for alert, says in ALERTS.items()],
    }


HEALTH = HandPage(path="health", title="Health", fill=fill, needs=list_health_findings, key="h", order=4)
