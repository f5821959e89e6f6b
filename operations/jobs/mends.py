"""Mends of jobs: one gets another payload and is done again; and what a replay would do, looked at before."""

from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Conflict, Gone, Invalid, Permanent
from domain.jobs.job import JsonObject, State
from domain.jobs.replays.payload_changes import payload_changes
from domain.jobs.replays.replay_plan import EffectFate, plan_replay
from domain.orgs.privacy.redaction import redact
from operations.call import Call
from operations.jobs import replays
from operations.jobs.bulk_actions import MOST_OF_PATCH, read_patch
from operations.jobs.dead_letters import MENDED, rulings_of
from operations.jobs.jobs import JOBS
from operations.operation import Reason, Record, Route
from storage.jobs import ledger
from storage.jobs.payload_names import TO_BE_MADE
from storage.jobs.replays import dead_letters
from storage.jobs.replays.dead_letters import DeadLetter
from storage.postgres.database import Transaction
from storage.postgres.execution import Row


class MendedJob(Record):
    """The new job that does a mended one."""

    values: ClassVar = ("changes.before", "changes.after")
    job_id: UUID
    replay_of: UUID
    changes: list[JsonObject] = Field(description="Each field that differs: its path, what was before, and after.")


class PlannedEffectView(Record):
    """An effect that the job has begun, and what a replay does about it."""

    key: str
    fate: EffectFate


class PlannedStepView(Record):
    """A step of the job whose result is kept."""

    name: str
    is_reused: bool
    saves_microcents: int


class ReplayPlanView(Record):
    """What a replay would do. What the job did not come to is not known."""

    plural: ClassVar = "replay_plans"
    values: ClassVar = ("changes.before", "changes.after")
    job_id: UUID
    refused: str | None = Field(description="Why it would be refused now.")
    effects: list[PlannedEffectView] = Field(
        description="`recorded`: it has happened and is not repeated. `found_out`: the provider is asked whether it"
        " happened. `called`: it is called. `needs_word`: a person has to say whether it happened."
    )
    steps: list[PlannedStepView]
    saves_microcents: int = Field(description="What the steps have cost that a replay reuses.")
    changes: list[JsonObject] = Field(
        description="With a patch: each field that would differ, its path, before and after."
    )
    made: list[str] = Field(
        description="Of these, the fields whose rows the mend makes of words in the patch: they have no id yet."
    )


@JOBS.look("replay-plan", Route("GET", "/jobs/{job_id}/replay-plan"))
def read_replay_plan(
    call: Call,
    job_id: UUID,
    *,
    mended: Annotated[bool, Field(description="With another payload, which does all steps anew.")] = False,
    patch: Annotated[
        str | None,
        Field(
            max_length=MOST_OF_PATCH,
            description="A JSON merge patch of the payload as a text of JSON: what it would change.",
        ),
    ] = None,
) -> ReplayPlanView:
    """Look at what a retry, a replay or a mend of a job would do with the effects and steps that the ledger keeps.

    A patch that would be refused is refused, with the field and the reason.
    """
    change = None if patch is None else read_patch(patch)
    mended = mended or change is not None
    changes: list[JsonObject] = []
    made: list[str] = []
    with call.reading() as tx:
        job = _subject(tx, call, job_id)
        if change is not None and (after := replays.replacement(tx, job, patch=change)):
            changes = payload_changes(job.payload, after.payload)
            made = [str(one["path"]) for one in changes if one.get("after") == TO_BE_MADE]
        refused = _refusal(tx, job, mended=mended)
        kept = dead_letters.kept_work(tx, [job])[job.job_id]
    plan = plan_replay(kept, is_mended=mended)
    return ReplayPlanView(
        job_id=job.job_id,
        refused=None if refused is None else str(refused),
        effects=[PlannedEffectView.model_validate(one) for one in plan.effects],
        steps=[PlannedStepView.model_validate(one) for one in plan.steps],
        saves_microcents=plan.saves_microcents,
        changes=redact([{**one, "after": None} if one["path"] in made else one for one in changes]),
        made=made,
    )


@JOBS.deed(
    "mend",
    Route("POST", "/jobs/{job_id}/mend", location="/v1/jobs/{job_id}"),
    events=("job.replayed", "deadletter.replayed", "effect.ruled"),
    ledger_audits=True,
    keyed=True,
)
def mend_job(  # noqa: PLR0913 - a payload in two forms, and what a person found out
    call: Call,
    job_id: UUID,
    *,
    payload: Annotated[JsonObject | None, Field(description="The whole payload, instead of the job's.")] = None,
    patch: Annotated[
        JsonObject | None, Field(description="A JSON merge patch of the job's payload: null takes a field away.")
    ] = None,
    happened: Annotated[
        dict[str, JsonObject] | None,
        Field(description="The keys of doubtful effects that did happen, each with what it gave."),
    ] = None,
    did_not_happen: Annotated[
        list[str] | None, Field(description="The keys of doubtful effects that did not happen.")
    ] = None,
    reason: Reason = None,
) -> MendedJob:
    """Do a dead, failed, canceled or waiting job with another payload, as a new job that names it.

    A dead job's letter is closed; a waiting job is canceled. Refused for a waiting job whose end somebody waits for,
    and for one that is under way.
    """
    if payload is None and patch is None:
        raise Invalid("payload", "or a patch must be given")
    rulings = rulings_of(happened or {}, did_not_happen or ())
    why = reason or MENDED
    with call.reading() as tx:
        old = _subject(tx, call, job_id)

    def mend() -> list[UUID]:
        if isinstance(old, DeadLetter):
            letter = replays.opened(tx, old.letter_id)
            mended = replays.replacement(tx, letter, payload=payload, patch=patch)
            return [replays.replay(tx, old.letter_id, by=call.origin, reason=why, mended=mended, rulings=rulings)]
        for job in dead_letters.lock_jobs(tx, [job_id], old.org_id):
            mended = replays.replacement(tx, job, payload=payload, patch=patch)
            _stop_waiting(tx, call, job, why)
            by = call.origin
            return [replays.retry(tx, job_id, by=by, reason=why, org_id=job.org_id, mended=mended, rulings=rulings)]
        raise Gone(f"there is no job {job_id}")

    with call.writing() as tx:
        (made,) = call.once(tx, mend)
        (new,) = dead_letters.read_jobs(tx, [made])
    return MendedJob(job_id=made, replay_of=old.job_id, changes=redact(payload_changes(old.payload, new.payload)))


def _subject(tx: Transaction, call: Call, job_id: UUID) -> Row | DeadLetter:
    """What is to be mended, by the id of the job or of its letter; raises `Gone`."""
    letter = dead_letters.get(tx, job_id)
    if letter is not None:
        return call.found(letter, f"job {job_id}")
    found = dead_letters.read_jobs(tx, [job_id])
    return call.found(found[0] if found else None, f"job {job_id}")


def _refusal(tx: Transaction, job: Row | DeadLetter, *, mended: bool) -> Permanent | None:
    """Why the job would not be done again."""
    try:
        if isinstance(job, DeadLetter):
            replays.check_open(job)
        elif not (mended and job.state == State.QUEUED):
            replays.check_retry(tx, job)
        replays.check_rulings(dead_letters.doubtful_effects(tx, [job]).get(job.job_id, frozenset()))
        if isinstance(job, DeadLetter) and not mended:
            replays.replacement(tx, job)
    except (Conflict, Invalid) as why:
        return why
    return None


def _stop_waiting(tx: Transaction, call: Call, job: Row, why: str) -> None:
    """Cancel a job that waits, for another does its work; raises `Conflict` where that would be taken for its end."""
    if job.state != State.QUEUED:
        return
    if dead_letters.is_end_awaited(tx, job):
        raise Conflict(f"the end of job {job.job_id} is waited for, and its cancellation would be taken for that")
    ledger.cancel(tx, [job.job_id], why, by=call.origin, org_id=job.org_id)
