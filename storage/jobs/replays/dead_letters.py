"""Dead letters: reading and closing them; and what moves in the ledger when a job is done again."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import AwareDatetime

from domain.jobs.effects import EffectStatus, Strategy
from domain.jobs.job import JsonObject
from domain.jobs.replays.replay_plan import KeptEffect, KeptStep, KeptWork
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.looking import FIRST_TIME, LAST_TIME, Looked


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead job with its diagnostics."""

    letter_id: UUID
    org_id: UUID
    job_id: UUID
    job_type: str
    queue: str
    payload: JsonObject
    payload_version: int
    reason: str
    error: JsonObject
    history: list[JsonObject]
    effects: list[JsonObject]
    plan: str
    state: str
    replay_job_id: UUID | None
    resolution: str | None
    resolved_by: str | None
    created_at: datetime
    resolved_at: datetime | None


class EndedJob(Protocol):
    """A job that has ended, or its dead letter."""

    @property
    def job_id(self) -> UUID:
        """Which."""

    @property
    def org_id(self) -> UUID:
        """Whose."""

    @property
    def job_type(self) -> str:
        """Of which type."""

    @property
    def payload(self) -> JsonObject:
        """What it worked on."""

    @property
    def payload_version(self) -> int:
        """In the shape of which version."""


class LetterPosition(NamedTuple):
    """Where a letter stands in the list."""

    at: AwareDatetime
    letter_id: UUID


MOST_LOOKED_AT = 20_000
"""How many letters a page looks at for those in one state; open ones have an index of their own."""

MOST_OPEN = 5_000
"""Open letters that are looked at for their groups."""

COLUMNS = ("id", *(field.name for field in fields(DeadLetter) if field.name != "letter_id"))
SELECT = f"select {', '.join(COLUMNS)} from dead_letters"  # noqa: S608 - the names of a class's fields


def of_job(tx: Transaction, job_id: UUID) -> DeadLetter | None:
    """The dead letter of a job."""
    return _first(tx.raw(f"{SELECT} where job_id = %(id)s", {"id": job_id}))


def get(tx: Transaction, letter_id: UUID) -> DeadLetter | None:
    """A dead letter by its own id, or by its job's."""
    query = f"{SELECT} where id = %(id)s or job_id = %(id)s"
    return _first(tx.raw(query, {"id": letter_id}))


def listed(  # noqa: PLR0913 - one parameter per filter
    tx: Transaction,
    *,
    state: str | None = "open",
    job_type: str | None = None,
    code: str | None = None,
    after: LetterPosition | None = None,
    limit: int,
    most_looked_at: int = MOST_LOOKED_AT,
) -> Looked[DeadLetter]:
    """Dead letters in a state, or in any for None, after a position: the newest first, one more than `limit`.

    A tenant's transaction lists the letters of its org, the ledger's those of all.
    """
    start = {"at": after.at if after else LAST_TIME, "last_id": after.letter_id if after else UUID(int=0)}
    if state == "open" and job_type is None and code is None:
        found = tx.run("list_open_letters", **start, limit=limit + 1)
        return Looked([_letter(row) for row in found], None)
    rows = tx.run("look_back_at_dead_letters", **start, most=most_looked_at)
    reached = rows[0].reached if rows else None
    wanted = {"state": state, "job_type": job_type, "code": code, "reached": reached or FIRST_TIME}
    found = tx.run("list_dead_letters", **start, **wanted, limit=limit + 1)
    return Looked([_letter(row) for row in found], reached)


def grouped(tx: Transaction, *, limit: int, most_looked_at: int = MOST_OPEN) -> Sequence[Row]:
    """The newest open letters by their errors' codes and job types, the largest groups first."""
    return tx.run("group_open_letters", most=most_looked_at, limit=limit)


def lock(tx: Transaction, ids: Sequence[UUID], *, waits: bool = True) -> Sequence[DeadLetter]:
    """Letters by their own or their jobs' ids, held until the transaction ends; those that nobody holds if not `waits`.

    In the order of their ids.
    """
    query = f"{SELECT} where id = any (%(ids)s) or job_id = any (%(ids)s) order by id for update"
    return [_letter(row) for row in tx.raw(query if waits else f"{query} skip locked", {"ids": list(ids)})]


def read(tx: Transaction, ids: Sequence[UUID]) -> Sequence[DeadLetter]:
    """Letters by their own or their jobs' ids, for somebody who only looks."""
    query = f"{SELECT} where id = any (%(ids)s) or job_id = any (%(ids)s) order by id"
    return [_letter(row) for row in tx.raw(query, {"ids": list(ids)})]


def close(tx: Transaction, letters: Mapping[UUID, UUID | None], *, state: str, by: str, why: str) -> None:
    """Close open letters, each with the job that replays it, if any."""
    tx.run(
        "close_letters",
        letter_ids=list(letters),
        replays=list(letters.values()),
        state=state,
        by=by,
        why=why,
    )


def release(tx: Transaction, jobs: Sequence[EndedJob]) -> Sequence[Row]:
    """Free the keys of jobs that have ended; what is inherited of each, but for those past their retention."""
    return tx.run("release_ended_jobs", **_named(jobs))


def lock_jobs(tx: Transaction, job_ids: Sequence[UUID], org_id: UUID | None = None) -> Sequence[Row]:
    """Jobs that are to be done again, held until the transaction ends; with an org, only its jobs."""
    return tx.run("lock_jobs_to_retry", job_ids=list(job_ids), org_id=org_id)


def read_jobs(tx: Transaction, job_ids: Sequence[UUID]) -> Sequence[Row]:
    """The same jobs for somebody who only looks."""
    return tx.run("read_jobs_to_retry", job_ids=list(job_ids))


def is_end_awaited(tx: Transaction, job: EndedJob) -> bool:
    """Whether a hook, a workflow or a client would take a job's cancellation for its end."""
    rows = tx.run("is_end_awaited", job_id=job.job_id, org_id=job.org_id)
    return bool(rows and rows[0].is_awaited)


def hand_over(tx: Transaction, heirs: Mapping[UUID, UUID], *, with_steps: Collection[UUID]) -> None:
    """Let new jobs answer for the effects of old ones (old to new), and some of them go on where the old one stood."""
    moved = {"sources": list(heirs), "targets": list(heirs.values())}
    tx.run("hand_over_effects", **moved)
    tx.run("hand_over_shared_effects", **moved)
    kept = {old: new for old, new in heirs.items() if old in with_steps}
    if kept:
        tx.run("copy_steps", sources=list(kept), targets=list(kept.values()))


def doubtful_effects(tx: Transaction, jobs: Sequence[EndedJob]) -> Mapping[UUID, frozenset[str]]:
    """By job: the keys of its effects of which nobody knows whether they happened; jobs without such are left out.

    They are held until the transaction ends; one that only reads holds none.
    """
    if not tx.is_reading:
        tx.run("lock_doubtful_effects", job_ids=[job.job_id for job in jobs])
    found: dict[UUID, frozenset[str]] = {}
    for row in tx.run("find_doubtful_effects", **_named(jobs)):
        found[row.job_id] = found.get(row.job_id, frozenset()) | {row.key}
    return found


def kept_work(tx: Transaction, jobs: Sequence[EndedJob], *, most: int = 100) -> Mapping[UUID, KeptWork]:
    """By job: what the ledger keeps of it, at most so many effects and steps."""
    return {row.job_id: _kept(row) for row in tx.run("read_replays", **_named(jobs), most=most)}


def _kept(row: Row) -> KeptWork:
    effects = (
        KeptEffect(
            one["key"],
            Strategy(one["strategy"]),
            None if one["status"] == "running" else EffectStatus(one["status"]),
            timedelta(seconds=one["known_for_s"]),
        )
        for one in row.effects
    )
    steps = (KeptStep(one["name"], one["cost_microcents"]) for one in row.steps)
    return KeptWork(tuple(effects), tuple(steps), row.cost_microcents)


def rule_effect(tx: Transaction, org_id: UUID, key: str, *, happened: bool, result: JsonObject) -> bool:
    """Write what a person found out about an unknown effect; false when the org has none of that key."""
    status = "succeeded" if happened else "failed"
    given = Jsonb(result) if happened else None
    return bool(tx.run("rule_effect", org_id=org_id, key=key, status=status, result=given))


def _named(jobs: Sequence[EndedJob]) -> dict[str, list[UUID]]:
    """Jobs by id and org: an id is free again when its job has left the ledger, for another org, too."""
    return {"job_ids": [job.job_id for job in jobs], "org_ids": [job.org_id for job in jobs]}


def _first(rows: Sequence[Row]) -> DeadLetter | None:
    return _letter(rows[0]) if rows else None


def _letter(row: Row) -> DeadLetter:
    named = row._asdict()
    return DeadLetter(letter_id=named.pop("id"), **named)
