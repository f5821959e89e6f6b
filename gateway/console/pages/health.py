"""Health: what is wrong with the fleet and what to do, and when its promises were checked last."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.console.derived import Listing
from gateway.console.pages import HandPage, Look
from operations.health import HealthFinding, list_health_findings
from operations.jobs.jobs import list_jobs
from operations.pages import Window

CHECKS_PROMISES = "maintenance.check_invariants"
CHECKS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Health:
    """What the page shows."""

    findings: Sequence[HealthFinding]
    checks: Listing
    """The newest jobs that looked for rows which contradict each other."""

    @property
    def wrong(self) -> int:
        """How many findings need somebody."""
        return sum(not one.ok for one in self.findings)


def fill(look: Look) -> Health:
    """The health of the fleet, as its ledger knows it."""
    checks = look.call(list_jobs, Window(CHECKS_SHOWN), job_type=CHECKS_PROMISES)
    return Health(look.call(list_health_findings).items, look.table(list_jobs, checks))


HEALTH = HandPage(path="health", title="Health", shown=Health, fill=fill, needs=list_health_findings, key="h", order=4)
