"""What a chaos run has to answer for: read from the ledger, the journal of deeds and the doors' promises alone."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from psycopg import Connection

from tests.chaos.chaos_jobs import CHILDREN, WROTE
from tests.chaos.deeds import Outside
from tests.chaos.recovery import Orphan, Silences, Step, find_orphans
from tests.invariants import find_gaps

MAY_END = {
    "chaos_jobs.doomed": {"failed", "dead"},
    "deadletter.quarantine": {"succeeded"},
}
"""How jobs of a type may end when nothing else is said."""

EXCUSES = frozenset({"poison", "lost", "deadline"})
"""Codes of a dead job that died of its workers' deaths alone."""


@dataclass
class Verdict:
    """Everything that was counted; each list names what is wrong."""

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
        """All that is wrong, in words."""
        return [*self.lost, *self.duplicate_effects, *self.missing_effects, *self.audit_gaps, *self.other]

    @property
    def longest_recovery_s(self) -> float:
        """The longest wait of an orphan."""
        return max((orphan.waited.total_seconds() for orphan in self.orphans), default=0.0)


def judge(connection: Connection[Any], outside: Outside, accepted: Collection[UUID], silences: Silences) -> Verdict:
    """Read everything and judge it; the fleet must have come to rest."""
    verdict = Verdict(
        states=_counts(connection, "select state, count(*) from jobs group by state"),
        ends_by_type=_ends(connection),
        events=_counts(connection, "select event, count(*) from audit_log group by event"),
        causes=_counts(
            connection, "select data ->> 'cause', count(*) from audit_log where event = 'job.retried' group by 1"
        ),
    )
    verdict.lost = [*_missing(connection, accepted), *_unfinished(connection)]
    _judge_effects(connection, outside, verdict)
    verdict.audit_gaps = find_gaps(connection)
    verdict.other = [*_ends_badly(connection), *_families(connection), *_writings(connection), *_overlaps(connection)]
    verdict.orphans = find_orphans(_trails(connection), silences, _pids(connection), outside.begun())
    return verdict


def _missing(connection: Connection[Any], accepted: Collection[UUID]) -> Iterator[str]:
    rows = connection.execute(
        "select a.id from unnest(%s::uuid[]) as a (id) where not exists (select from jobs j where j.id = a.id)",
        (list(accepted),),
    )
    for (job_id,) in rows:
        yield f"job {job_id} was accepted and is not in the ledger"


def _unfinished(connection: Connection[Any]) -> Iterator[str]:
    rows = connection.execute(
        "select id, job_type, state, attempt, published_at is not null, attention_at - now() from jobs"
        " where finished_at is null"
    )
    for job_id, job_type, state, attempt, published, attention in rows:
        yield (
            f"job {job_id} ({job_type}) has not ended: {state}, attempt {attempt},"
            f" published {published}, looked at in {attention}"
        )


def _judge_effects(connection: Connection[Any], outside: Outside, verdict: Verdict) -> None:
    deeds = outside.deeds()
    verdict.effects_per_key = dict(sorted(Counter(deeds.values()).items()))
    verdict.duplicate_effects = [f"{key} was done {times} times" for key, times in deeds.items() if times > 1]
    rows = connection.execute(
        "select j.id, j.state, j.payload ->> 'key', k.status from jobs j"
        " left join idempotency_keys k on k.kind = 'effect' and k.org_id = j.org_id and k.key = j.payload ->> 'key'"
        " where j.job_type in ('chaos_jobs.deed', 'chaos_jobs.light_deed')"
    )
    for job_id, state, key, status in rows:
        if state == "succeeded" and deeds[key] == 0:
            verdict.missing_effects.append(f"job {job_id} succeeded, but {key} was never done")
        if state == "succeeded" and status != "succeeded":
            verdict.missing_effects.append(f"job {job_id} succeeded, but the ledger says of {key}: {status}")
        if status == "succeeded" and deeds[key] == 0:
            verdict.missing_effects.append(f"the ledger says that {key} was done, and it was not")


def _ends_badly(connection: Connection[Any]) -> Iterator[str]:
    rows = connection.execute(
        "select id, job_type, state, error ->> 'code',"
        " cancel_requested_at is not null or (cancel_reason = 'expired' and expires_at <= finished_at)"
        " from jobs where finished_at is not null"
    )
    for job_id, job_type, state, code, asked in rows:
        fine = state in MAY_END.get(job_type, {"succeeded"})
        if not (fine or (state == "canceled" and asked) or (state == "dead" and code in EXCUSES)):
            yield f"job {job_id} ({job_type}) ended {state} ({code})"


def _families(connection: Connection[Any]) -> Iterator[str]:
    rows = connection.execute(
        "select p.id, p.state, count(c.id) from jobs p"
        " left join jobs c on c.parent_id = p.id and c.job_type = 'chaos_jobs.noop'"
        " where p.job_type = 'chaos_jobs.parent' group by p.id, p.state"
    )
    for job_id, state, children in rows:
        if children != (CHILDREN if state == "succeeded" else 0):
            yield f"the parent {job_id} ({state}) has {children} children"


def _writings(connection: Connection[Any]) -> Iterator[str]:
    rows = connection.execute(
        "select j.id, j.state, count(a.id) from jobs j left join audit_log a on a.job_id = j.id and a.event = %s"
        " where j.job_type = 'chaos_jobs.posting' group by j.id, j.state",
        (WROTE,),
    )
    for job_id, state, times in rows:
        if times != (1 if state == "succeeded" else 0):
            yield f"job {job_id} ({state}) wrote its row {times} times, which is one commit with its success"


def _overlaps(connection: Connection[Any]) -> Iterator[str]:
    """Two jobs of one concurrency key that were held at the same time, by the trail."""
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


def _trails(connection: Connection[Any]) -> list[Sequence[Step]]:
    cause = "coalesce(data ->> 'cause', data #>> '{error,code}')"
    query = (
        f"select job_id, event, attempt, at, worker_id, {cause} from audit_log"
        " where event like 'job.%' and job_id in"
        f" (select job_id from audit_log where {cause} in ('lost', 'deadline', 'poison')) order by id"
    )
    rows = connection.execute(query.encode())
    trails: dict[UUID, list[Step]] = defaultdict(list)
    for row in rows:
        trails[row[0]].append(Step(*row))
    return list(trails.values())


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
