"""The report of a chaos run: the figures as JSON, and a table."""

import platform
import statistics
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from typing import Any

from rich.table import Table

from tests.chaos.checks import Findings
from tests.chaos.fault_injector import FaultLog
from tests.chaos.load import Accepted
from tests.chaos.plan import Plan

ALLOWANCE_S = 15.0
"""How many seconds longer than the lease an orphan may wait for its rescue."""


@dataclass(frozen=True)
class Minimum:
    """How many jobs and faults a run must at least have had."""

    jobs: int = 0
    kills: int = 0
    wipes: int = 0
    restarts: int = 0


FULL_RUN_S = 180.0
FULL_RUN = Minimum(jobs=20_000, kills=20, wipes=2, restarts=1)
"""The minimum for a run of three minutes."""


def minimum_of(seconds: float) -> Minimum:
    """The minimum for a run of so many seconds: the same number per minute, and no more than for a full run."""
    share = min(seconds / FULL_RUN_S, 1.0)
    return Minimum(*(int(count * share) for count in astuple(FULL_RUN)))


def make_report(
    plan: Plan, accepted: Accepted, record: FaultLog, findings: Findings, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """All figures of a run."""
    waits = sorted(orphan.waited.total_seconds() for orphan in findings.orphans)
    return {
        "jobs": len(accepted.job_ids),
        "kills": record.kills,
        "wipes": record.wipes,
        "postgres_restarts": record.restarts,
        "lost": len(findings.lost),
        "duplicate_effects": len(findings.duplicate_effects),
        "missing_effects": len(findings.missing_effects),
        "audit_gaps": len(findings.audit_gaps),
        "other_problems": len(findings.other),
        "longest_recovery_s": round(findings.longest_recovery_s, 2),
        "median_recovery_s": round(statistics.median(waits), 2) if waits else 0.0,
        "orphans": len(waits),
        "slowest_recoveries": [
            {
                "job_id": str(orphan.job_id),
                "attempt": orphan.attempt,
                "s": round(orphan.waited.total_seconds(), 2),
                "silent_since": orphan.silent_since.isoformat(),
                "timeline": orphan.as_lines(),
            }
            for orphan in sorted(findings.orphans, key=lambda orphan: orphan.waited, reverse=True)[:10]
        ],
        "allowed_recovery_s": plan.lease_s + ALLOWANCE_S,
        "jobs_by_producer": {producer: len(ids) for producer, ids in accepted.by_producer.items()},
        "refused_attempts": accepted.refused,
        "folded_into_others": accepted.folded,
        "jobs_in_ledger": sum(findings.states.values()),
        "states": findings.states,
        "ends_by_type": findings.ends_by_type,
        "effects_per_key": {str(times): keys for times, keys in findings.effects_per_key.items()},
        "audit_events": findings.events,
        "retried_because": findings.causes,
        "faults": record.counts(),
        "seed": plan.seed,
        "seconds": plan.seconds,
        "orgs": plan.orgs,
        "machine": platform.platform(),
        "python": platform.python_version(),
        "at": datetime.now(UTC).isoformat(),
        **facts,
    }


def find_failures(report: Mapping[str, Any], minimum: Minimum) -> list[str]:
    """Why a run has failed; empty when it passed."""
    zero = ("lost", "duplicate_effects", "missing_effects", "audit_gaps", "other_problems")
    failures = [f"{name} is {report[name]} instead of 0" for name in zero if report[name]]
    wanted = {
        "jobs": minimum.jobs,
        "kills": minimum.kills,
        "wipes": minimum.wipes,
        "postgres_restarts": minimum.restarts,
    }
    failures += [
        f"{name} is {report[name]}, at least {least} wanted" for name, least in wanted.items() if report[name] < least
    ]
    if report["longest_recovery_s"] >= report["allowed_recovery_s"]:
        failures.append(f"an orphan waited {report['longest_recovery_s']} s, {report['allowed_recovery_s']} s allowed")
    return failures


def as_table(report: Mapping[str, Any]) -> Table:
    """The main figures as a table."""
    table = Table("", "", title=f"chaos, seed {report['seed']}, broker {report['broker']}", show_header=False)
    rows = {
        "jobs in": f"{report['jobs']} ({_listed(report['jobs_by_producer'])})",
        "jobs in the ledger": f"{report['jobs_in_ledger']} (with children, ticks and alerts)",
        "final states": _listed(report["states"]),
        "processes killed": str(report["kills"]),
        "broker wiped": str(report["wipes"]),
        "PostgreSQL restarted": str(report["postgres_restarts"]),
        "lost": str(report["lost"]),
        "effects per key": ", ".join(
            f"{keys} keys {times} time(s)" for times, keys in report["effects_per_key"].items()
        ),
        "duplicate effects": str(report["duplicate_effects"]),
        "audit events": str(sum(report["audit_events"].values())),
        "audit gaps": str(report["audit_gaps"]),
        "orphans": str(report["orphans"]),
        "recovery, median": f"{report['median_recovery_s']} s",
        "recovery, longest": f"{report['longest_recovery_s']} s ({report['allowed_recovery_s']} s allowed)",
        "other problems": str(report["missing_effects"] + report["other_problems"]),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
