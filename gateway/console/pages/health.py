"""Health: what is wrong with the fleet and what to do, its runbooks, and when its promises were checked last."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from domain.jobs.monitoring.runbooks import ALERTS, runbook_of
from gateway.console.pages import HandPage, Look
from gateway.http.resources import resources_of
from operations.health import HealthFinding, list_health_findings
from operations.jobs.jobs import list_jobs
from operations.pages import Window

CHECKS_PROMISES = "maintenance.check_invariants"
CHECKS_SHOWN = 5


class Runbook(NamedTuple):
    """A page of instructions: a link where its address is one, else the path of a file."""

    name: str
    path: str
    says: str = ""

    @property
    def href(self) -> str | None:
        """Its address, if a browser may follow it."""
        return self.path if self.path.startswith(("https://", "http://")) else None


class Found(NamedTuple):
    """A finding, and its runbook where it has one."""

    finding: HealthFinding
    runbook: Runbook | None


def fill(look: Look) -> Mapping[str, Any]:
    """The health of the fleet, as its ledger knows it; and the newest jobs that looked for contradicting rows."""
    findings = look.call(list_health_findings).items
    pattern = resources_of(look.request).settings.runbook_url
    checks = look.call(list_jobs, Window(CHECKS_SHOWN), job_type=[CHECKS_PROMISES])
    return {
        "findings": [Found(one, Runbook("Runbook", one.runbook) if one.runbook else None) for one in findings],
        "wrong": sum(not one.ok for one in findings),
        "checks": look.table(list_jobs, checks),
        "runbooks": [Runbook(alert, runbook_of(alert, pattern), says) for alert, says in ALERTS.items()],
    }


HEALTH = HandPage(path="health", title="Health", fill=fill, needs=list_health_findings, key="h", order=4)
