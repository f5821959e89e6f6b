"""Bulk actions: what a job does to all jobs that a filter matches; a person previews, follows and aborts it."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Annotated, Any, ClassVar, Unpack
from uuid import UUID

from pydantic import Field

from domain.clean_text import UNSTORABLE, clean_text, texts_of
from domain.jobs.failures import Conflict, Invalid
from domain.jobs.job import SYSTEM_ORG, JsonObject, State
from domain.jobs.monitoring.job_filter import JobFilter
from domain.jobs.replays.bulk_filter import BulkVerb, check_patch, check_states, needs_another, needs_number
from domain.jobs.replays.replay_plan import EffectFate, plan_replay
from domain.orgs.privacy.secrets import looks_secret
from domain.payloads.bulk_actions import RunBulkActionPayload
from operations.call import Call
from operations.jobs.bulk_steps import SortedSubjects, sort_subjects
from operations.jobs.job_filters import AskedJobs, filter_of
from operations.operation import WITHOUT_SECRET, WORDS, Area, Record, Route
from operations.pages import Page, Window
from storage.jobs import ledger
from storage.jobs.replays import bulk_actions, dead_letters
from storage.jobs.replays.bulk_actions import BulkAction, Place
from storage.postgres.database import Transaction

BULK = Area(
    "bulk",
    "Retry, replay, cancel, discard or mend all jobs that a filter matches. A job does it, at a pace that others do"
    " not feel.",
    org="optional",
)

PER_MINUTE = 3_000
"""Jobs a minute where nobody says otherwise: a batch of 200 in four seconds. Its transaction takes a tenth of that, and
the relay hands the new jobs out by the shares of orgs, as all others."""
SAMPLE = 20
EXAMINED = 200
"""So many of the jobs are checked as the deed checks them: a batch."""

Verb = Annotated[BulkVerb, Field(description="What is done to each: jobs are retried or canceled, letters the rest.")]
MOST_OF_PATCH = 4_000
"""Characters of a patch in an address: a request's head has a bound. A body takes a longer one."""
PATCH = "A JSON merge patch of each payload, where they are mended: null takes a field away."


class BulkCandidate(Record):
    """One of the jobs that a filter matches."""

    job_id: UUID
    org_id: UUID
    job_type: str
    state: State
    reason: str | None = Field(description="Its error, or why it was canceled.")


class BulkRefusal(Record):
    """Why some would be skipped."""

    reason: str
    jobs: int
    example: UUID = Field(description="One of these jobs.")


class BulkPreview(Record):
    """What a bulk action would do if it began now."""

    matched: int = Field(description="So many jobs at least.")
    is_all: bool = Field(description="Whether all that match were counted.")
    confirm: int | None = Field(description="What has to be given to begin; null where nothing has.")
    needs_another: bool = Field(description="Whether another person has to let it run, by `resume`.")
    sample: list[BulkCandidate] = Field(description="The oldest of them, which come first.")
    examined: int = Field(description="So many of the oldest were checked as the deed would check them.")
    refused: list[BulkRefusal] = Field(description="Of these, the jobs that would be skipped now.")
    effects: dict[EffectFate, int] = Field(description="What the others would do about effects that were begun.")
    cost_microcents: int = Field(description="What they have cost so far, less what they need not pay again.")


class BulkActionView(Record):
    """A bulk action, and how far it is."""

    plural: ClassVar = "bulk_actions"
    values: ClassVar = ("patch", "filter.payload")
    columns: ClassVar = ("bulk_id", "verb", "state", "done", "skipped", "put_off", "reason", "created_at")
    bulk_id: UUID
    org_id: UUID = Field(description="The system org where it is about all orgs.")
    verb: BulkVerb
    filter: JsonObject
    patch: JsonObject | None
    reason: str
    per_minute: int
    state: str = Field(description="`proposed`, `running`, `aborted` or `finished`.")
    stopped: str | None = Field(
        description="Why nobody aborted it and it is: its job has ended before it, so that `resume` goes on, or it met "
        "more jobs than it was begun for."
    )
    needs_another: bool = Field(description="Whether another person than whoever started it has to let it run.")
    frozen_at: datetime = Field(description="Jobs and letters that came, or ended, later are not meant.")
    most_jobs: int | None = Field(
        description="How many matched then, so that it stops before more; null: not all were counted."
    )
    done: int
    skipped: int
    put_off: int = Field(description="Of these somebody has locked something: they come again.")
    actor_id: str
    created_at: datetime
    finished_at: datetime | None


class SkippedJob(Record):
    """A job that a bulk action has skipped, or that comes again."""

    plural: ClassVar = "jobs"
    columns: ClassVar = ("job_id", "state", "reason")
    subject_id: UUID = Field(description="The id of the job, or of its letter.")
    job_id: UUID
    state: str = Field(description="`skipped`, or `again` for one that is tried once more.")
    reason: str


@BULK.look("preview", Route("GET", "/bulk-actions/preview"))
def preview_bulk_action(
    call: Call,
    *,
    verb: Verb,
    patch: Annotated[str | None, Field(max_length=MOST_OF_PATCH, description=f"{PATCH} As a text of JSON.")] = None,
    **asked: Unpack[AskedJobs],
) -> BulkPreview:
    """Look at what a bulk action would do: to how many at least, whom it would skip and why, and what it would cost."""
    wanted = _filter(call, verb, asked)
    change = None if patch is None else read_patch(patch)
    check_patch(verb, change)
    _check_texts("patch", change)
    with _looking(call) as tx:
        return _preview(tx, verb, wanted, change)


@BULK.deed(
    "start", Route("POST", "/bulk-actions", location="/v1/bulk-actions/{bulk_id}"), events=("bulk.started",), keyed=True
)
def start_bulk_action(
    call: Call,
    *,
    verb: Verb,
    reason: Annotated[str, Field(pattern=WORDS, max_length=1000, description="Why; each job's audit log keeps it.")],
    patch: Annotated[JsonObject | None, Field(description=PATCH)] = None,
    per_minute: Annotated[int, Field(ge=1, le=60_000, description="So many jobs a minute at most.")] = PER_MINUTE,
    confirm: Annotated[
        int | None, Field(ge=0, description="How many they are, as the preview says: above 1,000, and to discard.")
    ] = None,
    **asked: Unpack[AskedJobs],
) -> BulkActionView:
    """Do something to all jobs that a filter matches now; those that come later are not meant. A job does it.

    For more than 10,000 jobs, or where not all were counted, another person has to let it run.
    """
    wanted = _filter(call, verb, asked)
    check_patch(verb, patch)
    _check_texts("patch", patch)

    def start() -> Sequence[UUID]:
        frozen_at = ledger.read_time(tx)
        number, is_all = bulk_actions.count(tx, verb, wanted, frozen_at)
        if needs_number(verb, number, is_all=is_all) and confirm != number:
            raise Invalid("confirm", f"must be the number of jobs that match, which is {number}")
        is_proposed = needs_another(number, is_all=is_all)
        org_id = call.org_id or SYSTEM_ORG
        bulk_id = bulk_actions.add(
            tx, org_id, verb, wanted, patch=patch, reason=reason, per_minute=per_minute, frozen_at=frozen_at,
            by=call.origin, needs_another=is_proposed, most_jobs=number if is_all else None,
        )  # fmt: skip
        facts = {
            "bulk_id": str(bulk_id),
            "verb": verb.value,
            "filter": wanted.model_dump(mode="json"),
            "reason": reason,
        }
        call.audit(tx, org_id, facts)
        if not is_proposed:
            call.enqueue(tx, RunBulkActionPayload(bulk_id=bulk_id), org_id=SYSTEM_ORG, origin=call.origin)
        return [bulk_id]

    # The same request may come again when the action has ended, and nothing matches any more.
    with call.writing() as tx:
        (made,) = call.once(tx, start)
        return _view(_found(tx, call, made))


@BULK.look("list", Route("GET", "/bulk-actions"))
def list_bulk_actions(call: Call, window: Window) -> Page[BulkActionView]:
    """List bulk actions, the newest first."""
    with call.reading() as tx:
        return window.records(tx, "list_bulk_actions", BulkActionView, org_id=call.org_id)


@BULK.look("show", Route("GET", "/bulk-actions/{bulk_id}"))
def read_bulk_action(call: Call, bulk_id: UUID) -> BulkActionView:
    """Look at a bulk action, and how far it is."""
    with call.reading() as tx:
        return _view(_found(tx, call, bulk_id))


@BULK.look("skipped", Route("GET", "/bulk-actions/{bulk_id}/skipped"))
def list_skipped_jobs(call: Call, bulk_id: UUID, window: Window) -> Page[SkippedJob]:
    """List the jobs that a bulk action has skipped, and why; and those that come again."""
    with call.reading() as tx:
        _found(tx, call, bulk_id)
        return window.records(tx, "list_bulk_jobs", SkippedJob, bulk_id=bulk_id)


@BULK.deed("abort", Route("POST", "/bulk-actions/{bulk_id}/abort"), events=("bulk.aborted",))
def abort_bulk_action(call: Call, bulk_id: UUID) -> BulkActionView:
    """Abort a bulk action: it ends after the batch that is under way. What it has done stays done."""
    with call.writing() as tx:
        action = _found(tx, call, bulk_id)
        if not bulk_actions.move(tx, bulk_id, "aborted"):
            raise Conflict(f"bulk action {bulk_id} is {action.state} already")
        call.audit(tx, action.org_id, {"bulk_id": str(bulk_id)})
        return _view(_found(tx, call, bulk_id))


@BULK.deed("resume", Route("POST", "/bulk-actions/{bulk_id}/resume"), events=("bulk.resumed",))
def resume_bulk_action(call: Call, bulk_id: UUID) -> BulkActionView:
    """Let a bulk action go on where it was aborted, or where its job has ended; or let one begin that was proposed.

    One that is for very many jobs is resumed by another person than whoever started it.
    """
    with call.writing() as tx:
        action = _found(tx, call, bulk_id)
        if action.needs_another and action.actor_id == call.origin.actor_id:
            raise Conflict(f"bulk action {bulk_id} is for very many jobs: another person has to resume it")
        if not bulk_actions.move(tx, bulk_id, "running"):
            raise Conflict(f"bulk action {bulk_id} is {action.state}")
        # A job of it that waits is this one.
        call.enqueue(tx, RunBulkActionPayload(bulk_id=bulk_id), org_id=SYSTEM_ORG, origin=call.origin)
        call.audit(tx, action.org_id, {"bulk_id": str(bulk_id)})
        return _view(_found(tx, call, bulk_id))


def _filter(call: Call, verb: BulkVerb, asked: AskedJobs) -> JobFilter:
    check_states(verb, asked.get("state") or ())
    wanted = filter_of({**asked, "state": asked.get("state") or list(verb.states)}, call.org_id)
    _check_texts("job_type", wanted.job_types)
    _check_texts("payload", wanted.payload)
    return wanted


def _check_texts(field: str, document: object) -> None:
    """Raise `Invalid` where a text could not be kept, or is a secret, which the row would keep."""
    for text in texts_of(document):
        if clean_text(text) != text:
            raise Invalid(field, UNSTORABLE)
        if looks_secret(text):
            raise Invalid(field, WITHOUT_SECRET)


def _looking(call: Call) -> AbstractContextManager[Transaction]:
    """One of the ledger's: the filter names the org, and a tenant's look would pass over all other orgs' rows."""
    return call.database.looking(None)


def _preview(tx: Transaction, verb: BulkVerb, wanted: JobFilter, patch: JsonObject | None) -> BulkPreview:
    now = ledger.read_time(tx)
    number, is_all = bulk_actions.count(tx, verb, wanted, now)
    found = bulk_actions.match(tx, verb, wanted, Place.start(now), limit=EXAMINED)
    checked = _check(tx, verb, [row.subject_id for row in found.rows], patch)
    plans = dead_letters.kept_work(tx, checked.ready) if verb.does_again else {}
    effects, cost = Counter[EffectFate](), 0
    for kept in plans.values():
        plan = plan_replay(kept, is_mended=patch is not None)
        effects.update(one.fate for one in plan.effects)
        cost += max(kept.cost_microcents - plan.saves_microcents, 0)
    return BulkPreview(
        matched=number,
        is_all=is_all,
        confirm=number if needs_number(verb, number, is_all=is_all) else None,
        needs_another=needs_another(number, is_all=is_all),
        sample=[BulkCandidate.model_validate(row) for row in found.rows[:SAMPLE]],
        examined=len(found.rows),
        refused=_by_reason({job_id: str(why) for job_id, why in checked.refused.items()}),
        effects=dict(effects),
        cost_microcents=cost,
    )


def _check(tx: Transaction, verb: BulkVerb, ids: Sequence[UUID], patch: JsonObject | None) -> SortedSubjects:
    """What the deed would do with these jobs or letters."""
    jobs = () if verb.is_of_letters else dead_letters.read_jobs(tx, ids)
    return sort_subjects(tx, verb, dead_letters.read(tx, ids), jobs, patch=patch)


def _by_reason(refused: dict[UUID, str]) -> list[BulkRefusal]:
    counts, examples = Counter(refused.values()), {why: job_id for job_id, why in reversed(refused.items())}
    return [BulkRefusal(reason=why, jobs=jobs, example=examples[why]) for why, jobs in counts.most_common()]


def read_patch(text: str) -> JsonObject:
    """A merge patch that a query says; raises `Invalid`."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise Invalid("patch", "is no JSON") from None
    if not isinstance(found, dict):
        raise Invalid("patch", "is no JSON object")
    return found


def _found(tx: Transaction, call: Call, bulk_id: UUID) -> BulkAction:
    return call.found(bulk_actions.get(tx, bulk_id), f"bulk action {bulk_id}")


def _view(action: BulkAction) -> BulkActionView:
    facts = {name: getattr(action, name) for name in BulkActionView.model_fields if name != "filter"}
    return BulkActionView(**facts, filter=action.filter.model_dump(mode="json", exclude_defaults=True))
