"""What a bulk action does to some jobs in one transaction: the deeds on single jobs, by sets; and why it skips some."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from domain.jobs.failures import Conflict, Permanent
from domain.jobs.job import JsonObject, State
from domain.jobs.replays.bulk_filter import BulkVerb
from operations.jobs import replays
from operations.jobs.cancellations import MOST_LEVELS, check_cancel
from operations.jobs.replays import Replacement, check_open
from storage.jobs import job_views, ledger
from storage.jobs.replays import dead_letters
from storage.jobs.replays.bulk_actions import BulkAction, BulkOutcome, BulkSubject
from storage.jobs.replays.dead_letters import DeadLetter, EndedJob
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

MOST_DESCENDANTS = 1_000
"""Canceled in one transaction: a batch of whose jobs there are more comes again for the rest."""
LOCKED = "somebody has locked it"
MORE_BELOW = "more jobs descend from those of its batch than are canceled at once"


class SortedSubjects(NamedTuple):
    """Which of some jobs a verb may be done to, by the checks of the deeds on single jobs."""

    letters: list[tuple[DeadLetter, Replacement | None]]
    jobs: list[tuple[Row, Replacement | None]]
    refused: dict[UUID, Permanent]
    """By job."""

    @property
    def ready(self) -> list[EndedJob]:
        """All that may be done again."""
        return [*(one for one, _ in self.letters), *(one for one, _ in self.jobs)]


def carry_out(tx: Transaction, action: BulkAction, some: Sequence[BulkSubject]) -> list[BulkOutcome]:
    """Do it to these; those of which somebody has locked something come again.

    Raises what the ledger refuses one of them for, and `StatementAborted` for a lock on what goes with one.
    """
    facts = {"bulk_id": str(action.bulk_id)}
    if action.verb.is_of_letters:
        letters = dead_letters.lock(tx, [one.subject_id for one in some], waits=False)
        jobs: Sequence[Row] = ()
    else:
        jobs = dead_letters.lock_jobs(tx, _free(tx, some))
        letters = dead_letters.lock(tx, [job.job_id for job in jobs if job.state == State.DEAD], waits=False)
    found = sort_subjects(tx, action.verb, letters, jobs, patch=action.patch)
    why = {**found.refused}
    made: dict[UUID, UUID] = {}
    is_more = False
    if action.verb is BulkVerb.CANCEL:
        is_more = _cancel(tx, action, [job.job_id for job, _ in found.jobs], facts)
    elif action.verb is BulkVerb.DISCARD:
        replays.discard_letters(tx, [one for one, _ in found.letters], by=action.by, reason=action.reason, facts=facts)
    else:
        again = {
            **replays.replay_letters(tx, found.letters, by=action.by, reason=action.reason, facts=facts),
            **replays.retry_jobs(tx, found.jobs, by=action.by, reason=action.reason, facts=facts),
        }
        for job_id, answer in again.items():
            if isinstance(answer, Conflict):
                why[job_id] = answer
            else:
                made[job_id] = answer
    ready = {one.job_id for one in found.ready}
    return [_outcome(one, ready, why, made, MORE_BELOW if is_more else None) for one in some]


def sort_subjects(
    tx: Transaction,
    verb: BulkVerb,
    letters: Sequence[DeadLetter],
    jobs: Sequence[Row],
    *,
    patch: JsonObject | None,
) -> SortedSubjects:
    """Which of these letters and jobs the verb may be done to; a dead job is retried by its letter."""
    if verb is BulkVerb.DISCARD:
        opened, closed = replays.sort(letters, check_open)
        return SortedSubjects(opened, [], closed)
    if verb is BulkVerb.CANCEL:
        unfinished, over = replays.sort(jobs, lambda job: check_cancel(job.job_id, job.state))
        return SortedSubjects([], unfinished, over)
    ended, refused = replays.sort_jobs(tx, jobs)
    asked = [one for one in letters if verb.is_of_letters or one.job_id not in refused]
    checked, also = replays.sort_letters(tx, asked, patch=patch)
    return SortedSubjects(checked, [(job, mended) for job, mended in ended if job.state != State.DEAD], refused | also)


def _outcome(
    one: BulkSubject, ready: set[UUID], why: Mapping[UUID, Permanent], made: Mapping[UUID, UUID], left: str | None
) -> BulkOutcome:
    """What became of one; `left` is why those that were ready come again."""
    refusal = why.get(one.job_id)
    if refusal is not None:
        return BulkOutcome(one, "skipped", str(refusal)[:1000])
    if one.job_id not in ready:
        return BulkOutcome(one, "again", LOCKED)
    return (
        BulkOutcome(one, "done", made_job_id=made.get(one.job_id)) if left is None else BulkOutcome(one, "again", left)
    )


def _cancel(tx: Transaction, action: BulkAction, job_ids: Sequence[UUID], facts: JsonObject) -> bool:
    """Cancel these and what descends from them, parents first; says whether more descend from them."""
    ledger.cancel(tx, job_ids, action.reason, by=action.by, facts=facts)
    org_id = action.filter.org_id
    below = job_views.descendants(tx, job_ids, org_id=org_id, levels=MOST_LEVELS, most=MOST_DESCENDANTS)
    ledger.cancel(tx, [job_id for job_id, _ in below], action.reason, by=action.by, org_id=org_id, facts=facts)
    return len(below) == MOST_DESCENDANTS


def _free(tx: Transaction, some: Sequence[BulkSubject]) -> list[UUID]:
    """The jobs that nobody else has locked, locked until the transaction ends."""
    return ledger.lock_free(tx, [one.job_id for one in some])
