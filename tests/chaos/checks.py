"""Checks a finished chaos run: reads the ledger, the journal of effects and the accepted job ids, and nothing else."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from psycopg import Connection

from tests.chaos.chaos_jobs import CHILDREN, WROTE
from tests.chaos.outside import Outside
from tests.chaos.recovery import AuditedEvent, Orphan, Silences, find_orphans
from tests.invariants import find_gaps

MAY_END = {
    "chaos_jobs.doomed": {"failed", "dead"},
    "deadletter.quarantine": {"succeeded"},
}
"""How jobs of a type may end; other types must succeed."""

LOSSES = frozenset({"poison", "lost", "deadline"})
"""Error codes of dead jobs whose workers were killed; such a death is no error of the job."""


@dataclass
class Findings:
    """Everything that was counted; each list names problems."""

    states: dict[str, int]
    ends_by_type: dict[str, dict[str, int]]
    events: dict[str, int]
    causes: dict[str, int]
    lost: list[str] = field(default_factory=list)
    duplicate_effects: list[str] = field(default_factory=list)
    missing_effects: list[str] = field(default_factory=list)
    audit_gaps: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    orphans: list[Orphan] = field(default_factory=list)
    effects_per_key: dict[int, int] = field(default_factory=dict)

    @property
    def problems(self) -> list[str]:
        """All problems, a sentence each."""
        return [*self.lost, *self.duplicate_effects, *self.missing_effects, *self.audit_gaps, *self.other]

    @property
    def longest_recovery_s(self) -> float:
        """The longest time that an orphan waited for its rescue."""
        return max((orphan.waited.total_seconds() for orphan in self.orphans), default=0.0)


def check_run(
    connection: Connection[Any], outside: Outside, accepted: Collection[UUID], silences: Silences
) -> Findings:
    """Read and check everything; the fleet must be at rest."""
    findings = Findings(
        states=_counts(connection, "select state, count(*) from jobs group by state"),
        ends_by_type=_ends(connection),
        events=_counts(connection, "select event, count(*) from audit_log group by event"),
        causes=_counts(
            connection, "select data ->> 'cause', count(*) from audit_log where event = 'job.retried' group by 1"
        ),
    )
    findings.lost = [*_missing(connection, accepted), *_unfinished(connection)]
    _check_effects(connection, outside, findings)
    findings.audit_gaps = find_gaps(connection)
    findings.other = [
        *_wrong_ends(connection),
        *_children(connection),
        *_settlement_rows(connection),
        *_concurrent_holders(connection),
    ]
    findings.orphans = find_orphans(_timelines(connection), silences, _pids(connection), outside.begun())
    return findings


def _missing(connection: Connection[Any], accepted: Collection[UUID]) -> Iterator[str]:
    rows = connection.execute(
        "select a.id from unnest(%s::uuid[]) as a (id) where not exists (select from jobs j where j.id = a.id)",
        (list(accepted),),
    )
    for (job_id,) in rows:
        yield f"job {job_id} was accepted and is not in the ledger"


def _unfinished(connection: Connection[Any]) -> Iterator[str]:
    rows = connection.execute(
        "select id, job_type, state, attempt, published_at is not null, next_check_at - now() from jobs"
        " where finished_at is null"
    )
    for job_id, job_type, state, attempt, published, next_check in rows:
        yield (
            f"job {job_id} ({job_type}) has not ended: {state}, attempt {attempt},"
            f" published {published}, checked next in {next_check}"
        )


def _check_effects(connection: Connection[Any], outside: Outside, findings: Findings) -> None:
    performed = outside.performed()
    findings.effects_per_key = dict(sorted(Counter(performed.values()).items()))
    findings.duplicate_effects = [f"{key} was done {times} times" for key, times in performed.items() if times > 1]
    rows = connection.execute(
        "select j.id, j.state, j.payload ->> 'key', k.status from jobs j"
        " left join idempotency_keys k on k.kind = 'effect' and k.org_id = j.org_id and k.key = j.payload ->> 'key'"
        " where j.job_type in ('chaos_jobs.effect', 'chaos_jobs.quick_effect')"
    )
    for job_id, state, key, status in rows:
        if state == "succeeded" and performed[key] == 0:
            findings.missing_effects.append(f"job {job_id} succeeded, but {key} was never done")
        if state == "succeeded" and status != "succeeded":
            findings.missing_effects.append(f"job {job_id} succeeded, but the ledger says of {key}: {status}")
        if status == "succeeded" and performed[key] == 0:
            findings.missing_effects.append(f"the ledger says that {key} was done, and it was not")


def _wrong_ends(connection: Connection[Any]) -> Iterator[str]:
    rows = connection.execute(
        "select id, job_type, state, error ->> 'code',"
        " cancel_requested_at is not null or (cancel_reason = 'expired' and expires_at <= finished_at)"
        " from jobs where finished_at is not null"
    )
    for job_id, job_type, state, code, asked in rows:
        fine = state in MAY_END.get(job_type, {"succeeded"})
        if not (fine or (state == "canceled" and asked) or (state == "dead" and code in LOSSES)):
            yield f"job {job_id} ({job_type}) ended {state} ({code})"


def _children(connection: Connection[Any]) -> Iterator[str]:
    rows = connection.execute(
        "select p.id, p.state, count(c.id) from jobs p"
        " left join jobs c on c.parent_id = p.id and c.job_type = 'chaos_jobs.noop'"
        " where p.job_type = 'chaos_jobs.parent' group by p.id, p.state"
    )
    for job_id, state, children in rows:
        if children != (CHILDREN if state == "succeeded" else 0):
            yield f"the parent {job_id} ({state}) has {children} children"


def _settlement_rows(connection: Connection[Any]) -> Iterator[str]:
    rows = connection.execute(
        "select j.id, j.state, count(a.id) from jobs j left join audit_log a on a.job_id = j.id and a.event = %s"
        " where j.job_type = 'chaos_jobs.posting' group by j.id, j.state",
        (WROTE,),
    )
    for job_id, state, times in rows:
        if times != (1 if state == "succeeded" else 0):
            yield f"job {job_id} ({state}) wrote its row {times} times, which is one commit with its success"


def _concurrent_holders(connection: Connection[Any]) -> Iterator[str]:
    """Jobs of one concurrency key that were held at the same time, by the audit log."""
    rows = connection.execute(
        "select j.serial_key, a.job_id, a.event, a.at from audit_log a join jobs j on j.id = a.job_id"
        " where j.serial_key is not null and a.event like 'job.%' order by j.serial_key, a.at, a.id"
    )
    holder: dict[str, UUID] = {}
    for key, job_id, event, at in rows:
        if event in {"job.claimed", "job.started"}:
            if holder.setdefault(key, job_id) != job_id:
                yield f"job {job_id} took {key} at {at} while {holder[key]} held it"
            holder[key] = job_id
        elif event not in {"job.enqueued", "job.cancel_requested"} and holder.get(key) == job_id:
            del holder[key]


def _timelines(connection: Connection[Any]) -> list[Sequence[AuditedEvent]]:
    cause = "coalesce(data ->> 'cause', data #>> '{error,code}')"
    query = (
        f"select job_id, event, attempt, at, worker_id, {cause} from audit_log"
        " where event like 'job.%' and job_id in"
        f" (select job_id from audit_log where {cause} in ('lost', 'deadline', 'poison')) order by id"
    )
    rows = connection.execute(query.encode())
    timelines: dict[UUID, list[AuditedEvent]] = defaultdict(list)
    for row in rows:
        timelines[row[0]].append(AuditedEvent(*row))
    return list(timelines.values())


def _pids(connection: Connection[Any]) -> dict[UUID, int]:
    return dict(connection.execute("select id, pid from workers").fetchall())


def _ends(connection: Connection[Any]) -> dict[str, dict[str, int]]:
    ends: dict[str, dict[str, int]] = defaultdict(dict)
    for job_type, state, times in connection.execute(
        "select job_type, state, count(*) from jobs group by job_type, state order by job_type, state"
    ):
        ends[job_type][state] = times
    return dict(ends)


def _counts(connection: Connection[Any], query: str) -> dict[str, int]:
    return dict(connection.execute(query.encode()).fetchall())
