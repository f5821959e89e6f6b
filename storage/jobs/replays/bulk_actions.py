"""Bulk actions: what is done to all jobs that a filter matches, how far it is, and what became of each job."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Self
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.job import ActorType, JsonObject, Origin
from domain.jobs.job_ids import first_job_id
from domain.jobs.monitoring.job_filter import JobFilter
from domain.jobs.replays.bulk_filter import BulkVerb
from domain.jobs.retention import FIRST_ID, first_foreign_id
from storage.jobs import job_views
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.retention import Retention

KEPT_FOR = timedelta(days=90)
RETENTION = Retention("bulk_actions", "created_at", KEPT_FOR, batch=1, by_org=True)
"""One takes the rows of its jobs with it."""

MOST_LOOKED_AT = 20_000
"""Jobs or letters that one statement looks at."""
MOST_LOOKS = 10
"""Statements for a number: half a second's work."""
CLOCKS_DIFFER = timedelta(minutes=1)
"""How far the time in an id may be from the row's."""
LAST_ID = UUID(int=2**128 - 1)

JobEnd = Literal["done", "skipped", "again"]
Source = Literal["ids", "of_org", "unfinished", "named"]


@dataclass(frozen=True, slots=True)
class BulkAction:
    """A bulk action as its row says."""

    bulk_id: UUID
    org_id: UUID
    verb: BulkVerb
    filter: JobFilter
    patch: JsonObject | None
    reason: str
    per_minute: int
    state: str
    stopped: str | None
    needs_another: bool
    frozen_at: datetime
    after_id: UUID | None
    next_batch_at: datetime
    done: int
    skipped: int
    put_off: int
    most_jobs: int | None
    actor_type: ActorType
    actor_id: str
    created_at: datetime
    finished_at: datetime | None

    @property
    def by(self) -> Origin:
        """Who does it to the jobs: who has started it. The new jobs name the bulk action as their request."""
        return Origin(self.actor_type, self.actor_id, request_id=str(self.bulk_id))


class BulkSubject(NamedTuple):
    """A job that a bulk action is for; or its letter, whose id `subject_id` is then."""

    subject_id: UUID
    job_id: UUID
    org_id: UUID


class BulkOutcome(NamedTuple):
    """What became of one."""

    subject: BulkSubject
    state: JobEnd
    reason: str | None = None
    made_job_id: UUID | None = None


class PutOff(NamedTuple):
    """One that comes again."""

    subject: BulkSubject
    tries: int
    """How often in vain after the first time."""
    reason: str


class Matched(NamedTuple):
    """Jobs or letters that a filter matches, in the order of their ids; those of an org by their times."""

    rows: Sequence[Row]
    after_id: UUID | None
    """After which id to look next; None when there are no more."""

    @property
    def subjects(self) -> list[BulkSubject]:
        """Without what a person would see of them."""
        return [BulkSubject(row.subject_id, row.job_id, row.job_org_id) for row in self.rows]


class IdBounds(NamedTuple):
    """Between which ids to look, without the bounds; up to which id was looked; below which a filter skips ids."""

    after_id: UUID
    upto: UUID
    passed_id: UUID
    since_id: UUID


class WalkStatements(NamedTuple):
    """The statements that look at jobs, or at letters."""

    matched: str
    counted: str
    reached: str


OF_JOBS = WalkStatements("match_jobs", "count_jobs", "reach_of_jobs")
OF_LETTERS = WalkStatements("match_letters", "count_letters", "reach_of_letters")


class Place(NamedTuple):
    """Where a bulk action is among jobs or letters, in their order, of those that there were once."""

    after_id: UUID
    frozen_at: datetime
    """Those that came later are passed over."""
    now: datetime

    @classmethod
    def start(cls, now: datetime) -> Self:
        """Before all that there are now."""
        return cls(FIRST_ID, now, now)

    @property
    def end(self) -> UUID:
        """Behind the ids that the ledger has made by then, which are in the order of their times."""
        return first_job_id(self.frozen_at + CLOCKS_DIFFER)

    def bounds(self, since: datetime | None) -> IdBounds:
        """Between which ids to look: among those that the ledger has made, then among clients', which may be any."""
        first, _ = job_views.lower_bound(since, None)
        since_id = FIRST_ID if first is None else first_job_id(first)
        if self.after_id < self.end:
            return IdBounds(max(self.after_id, since_id), self.end, self.after_id, since_id)
        return IdBounds(max(self.after_id, first_foreign_id(self.now)), LAST_ID, self.after_id, since_id)


def match(
    tx: Transaction,
    verb: BulkVerb,
    wanted: JobFilter,
    place: Place,
    *,
    limit: int,
    most_looked_at: int = MOST_LOOKED_AT,
) -> Matched:
    """The next of them after a place; looks at a bounded number of rows."""
    source = _source(tx, verb, wanted, most_looked_at)
    asked = _asked(source, wanted, place) | {"most": most_looked_at}
    rows = tx.run(_walk(verb).matched, **asked, limit=limit)
    after_id = rows[-1].subject_id if len(rows) == limit else _next_id(tx, verb, source, place, asked)
    return Matched(rows, after_id)


def count(
    tx: Transaction, verb: BulkVerb, wanted: JobFilter, now: datetime, *, most_looked_at: int = MOST_LOOKED_AT
) -> tuple[int, bool]:
    """How many match at least, and whether that are all; looks at a bounded number of rows."""
    matched, place, source = 0, Place.start(now), _source(tx, verb, wanted, most_looked_at)
    for _ in range(MOST_LOOKS):
        asked = _asked(source, wanted, place) | {"most": most_looked_at}
        matched += tx.run(_walk(verb).counted, **asked)[0].matched
        following = _next_id(tx, verb, source, place, asked)
        if following is None:
            return matched, True
        place = place._replace(after_id=following)
    return matched, False


def _walk(verb: BulkVerb) -> WalkStatements:
    return OF_LETTERS if verb.is_of_letters else OF_JOBS


def _source(tx: Transaction, verb: BulkVerb, wanted: JobFilter, most: int) -> Source:
    """Where all that match are found, and as few others as can be: other orgs may have very many."""
    if wanted.job_ids:
        return "named"
    if verb is BulkVerb.CANCEL:
        few = tx.run("are_few_unfinished", source="unfinished", most=min(job_views.MOST_UNFINISHED, most))[0].are_few
        return "unfinished" if few else "ids"
    return "ids" if wanted.org_id is None else "of_org"


def _asked(source: Source, wanted: JobFilter, place: Place) -> dict[str, object]:
    return {
        "source": source,
        **place.bounds(wanted.since)._asdict(),
        **job_views.conditions(wanted),
        "frozen_at": place.frozen_at,
    }


def _next_id(tx: Transaction, verb: BulkVerb, source: Source, place: Place, asked: dict[str, object]) -> UUID | None:
    """After which id the next look begins; None when there are no more, and where one look is at all."""
    if source in {"named", "unfinished"}:
        return None
    rows = tx.run(_walk(verb).reached, **asked)
    if rows:
        return UUID(str(rows[0].reached))
    return place.end if source == "ids" and asked["upto"] == place.end else None


def add(  # noqa: PLR0913 - the columns of the row
    tx: Transaction,
    org_id: UUID,
    verb: BulkVerb,
    wanted: JobFilter,
    *,
    patch: JsonObject | None,
    reason: str,
    per_minute: int,
    frozen_at: datetime,
    by: Origin,
    needs_another: bool = False,
    most_jobs: int | None = None,
) -> UUID:
    """Begin one, or propose one that another person has to let run; returns its id."""
    rows = tx.run(
        "add_bulk_action",
        org_id=org_id,
        verb=verb.value,
        filter=Jsonb(wanted.model_dump(mode="json")),
        patch=None if patch is None else Jsonb(patch),
        reason=reason,
        per_minute=per_minute,
        frozen_at=frozen_at,
        needs_another=needs_another,
        most_jobs=most_jobs,
        actor_type=by.actor_type.value,
        actor_id=by.actor_id,
    )
    return UUID(str(rows[0].bulk_id))


def get(tx: Transaction, bulk_id: UUID) -> BulkAction | None:
    """A bulk action; None when there is none (of the transaction's org)."""
    return tx.first("find_bulk_action", read_action, bulk_id=bulk_id)


def read_action(row: Row) -> BulkAction:
    """A bulk action by its row."""
    named = row._asdict()
    read = {"verb": BulkVerb(row.verb), "filter": JobFilter(**row.filter), "actor_type": ActorType(row.actor_type)}
    return BulkAction(**{one.name: named[one.name] for one in fields(BulkAction)} | read)


def move(tx: Transaction, bulk_id: UUID, state: Literal["running", "aborted"]) -> bool:
    """Abort one, or let one run; false for one that has ended, or is aborted already."""
    return bool(tx.run("move_bulk_action", bulk_id=bulk_id, state=state))


def stop(tx: Transaction, bulk_id: UUID, subjects: Sequence[BulkSubject]) -> str | None:
    """Abort one that would pass the number of jobs that it was begun for, if it did these too; says why it did."""
    rows = tx.run("stop_bulk_action", bulk_id=bulk_id, subject_ids=[one.subject_id for one in subjects])
    return str(rows[0].stopped) if rows else None


def unhandled(tx: Transaction, bulk_id: UUID, subjects: Sequence[BulkSubject]) -> list[BulkSubject]:
    """Those that the bulk action is not through with."""
    rows = tx.run("find_handled", bulk_id=bulk_id, subject_ids=[one.subject_id for one in subjects])
    handled = {row.subject_id for row in rows}
    return [one for one in subjects if one.subject_id not in handled]


def record(tx: Transaction, bulk_id: UUID, outcomes: Sequence[BulkOutcome]) -> None:
    """Write what became of jobs; nothing more is done to those that do not come again."""
    tx.run(
        "record_bulk_jobs",
        bulk_id=bulk_id,
        subject_ids=[one.subject.subject_id for one in outcomes],
        job_ids=[one.subject.job_id for one in outcomes],
        job_org_ids=[one.subject.org_id for one in outcomes],
        states=[one.state for one in outcomes],
        reasons=[one.reason for one in outcomes],
        made_job_ids=[one.made_job_id for one in outcomes],
    )


def advance(tx: Transaction, bulk_id: UUID, after_id: UUID | None, jobs: int) -> None:
    """Say up to which id all are done, skipped or come again, after a batch of so many jobs."""
    tx.run("advance_bulk_action", bulk_id=bulk_id, after_id=after_id, jobs=jobs)


def come_again(tx: Transaction, bulk_id: UUID, limit: int) -> Sequence[PutOff]:
    """Those that come again."""
    rows = tx.run("find_again", bulk_id=bulk_id, limit=limit)
    return [PutOff(BulkSubject(row.subject_id, row.job_id, row.job_org_id), row.tries, row.reason) for row in rows]


def rest(tx: Transaction, bulk_id: UUID, pause: timedelta, jobs: int) -> None:
    """Let the next batch begin after a pause, which is longer where the pace asks for that after so many jobs."""
    tx.run("rest_bulk_action", bulk_id=bulk_id, pause=pause, jobs=jobs)


def finish(tx: Transaction, bulk_id: UUID) -> bool:
    """End one that has come to the end; false where somebody has aborted it, or it has ended."""
    return bool(tx.run("finish_bulk_action", bulk_id=bulk_id))
