"""Jobs that are done again: by their dead letters, as they were or mended, or because they failed. Each is audited."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar
from uuid import UUID

from domain.jobs.contract import check_text
from domain.jobs.failures import Conflict, Gone, Invalid, Permanent
from domain.jobs.job import JsonObject, KeysOf, NewJob, Origin, State
from domain.jobs.replays.payload_changes import merged, payload_changes
from domain.orgs.privacy.redaction import redact
from domain.payloads import payload_types
from storage.jobs import ledger, payload_names
from storage.jobs.audit_log import deeds
from storage.jobs.audit_log.deeds import JobEvent
from storage.jobs.replays import dead_letters
from storage.jobs.replays.dead_letters import DeadLetter, EndedJob
from storage.mail.actions import actions
from storage.notifications import reminders
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

Thing = TypeVar("Thing", bound=EndedJob)
NO_RULINGS: Mapping[str, "Ruling"] = {}


@dataclass(frozen=True, slots=True)
class Replacement:
    """Another payload than the dead job's, checked by the caller against its type's schema."""

    payload: JsonObject
    version: int


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a person found out about an effect that nobody could know of; `result` is what the handler will get."""

    happened: bool
    result: JsonObject = field(default_factory=dict)


def replacement(
    tx: Transaction, job: EndedJob, *, payload: JsonObject | None = None, patch: JsonObject | None = None
) -> Replacement | None:
    """What a job gets instead of its payload: another, or its own with a merge patch; None without either.

    Whatever it will read is checked against its type's payload; raises `Invalid` with the field and the reason. In a
    transaction that only reads, no row is made of words, and `TO_BE_MADE` is in the place of its id.
    """
    payload_type = payload_types.find(job.job_type)
    if payload_type is None:
        raise Invalid("job_type", f"{job.job_type} is no job type of this release")
    if payload is None and patch is None:
        payload_type.read(job.payload, job.payload_version)
        return None
    if payload is None:
        payload = payload_type.upcast(job.payload, job.payload_version)
    elif patch is not None:
        raise Invalid("patch", "is given beside a whole payload: give one of them")
    version = payload_type.declaration.version
    document = payload_names.resolve(tx, payload_type, merged(payload, patch or {}), org_id=job.org_id)
    return Replacement(payload_type.read(document, version).document(), version)


def sort(
    things: Sequence[Thing], check: Callable[[Thing], Replacement | None]
) -> tuple[list[tuple[Thing, Replacement | None]], dict[UUID, Permanent]]:
    """The jobs or letters that pass a check, each with what it gets instead of its payload; by job, why not."""
    ready: list[tuple[Thing, Replacement | None]] = []
    refused: dict[UUID, Permanent] = {}
    for one in things:
        try:
            ready.append((one, check(one)))
        except (Conflict, Invalid) as why:
            refused[one.job_id] = why
    return ready, refused


def sort_letters(
    tx: Transaction, letters: Sequence[DeadLetter], *, patch: JsonObject | None = None
) -> tuple[list[tuple[DeadLetter, Replacement | None]], dict[UUID, Permanent]]:
    """The letters whose jobs may be done again, as `sort` says it.

    The effects that nobody knows about are held until the transaction ends; one that only reads holds none.
    """
    doubtful = dead_letters.doubtful_effects(tx, letters)

    def check(letter: DeadLetter) -> Replacement | None:
        check_open(letter)
        check_rulings(doubtful.get(letter.job_id, frozenset()))
        return replacement(tx, letter, patch=patch)

    return sort(letters, check)


def sort_jobs(
    tx: Transaction, jobs: Sequence[Row]
) -> tuple[list[tuple[Row, Replacement | None]], dict[UUID, Permanent]]:
    """As `sort_letters`, for jobs of `dead_letters.lock_jobs`."""
    doubtful = dead_letters.doubtful_effects(tx, jobs)

    def check(job: Row) -> None:
        check_retry(tx, job)
        check_rulings(doubtful.get(job.job_id, frozenset()))

    return sort(jobs, check)


def replay(
    tx: Transaction,
    letter_id: UUID,
    *,
    by: Origin,
    reason: str,
    mended: Replacement | None = None,
    rulings: Mapping[str, Ruling] = NO_RULINGS,
) -> UUID:
    """Enqueue a dead job again under a new id that names the old one; returns the new id.

    The relay publishes it. Raises `Gone` without such a letter, `Conflict` when it is closed or another job has the
    key, `Invalid` when a doubtful effect has no ruling or a ruling no doubtful effect.
    """
    check_text("reason", reason)
    letter = opened(tx, letter_id)
    rule(tx, letter, rulings, by)
    return _the_one(replay_letters(tx, [(letter, mended)], by=by, reason=reason))


def retry(  # noqa: PLR0913 - as `replay`, and whose job it is
    tx: Transaction,
    job_id: UUID,
    *,
    by: Origin,
    reason: str,
    org_id: UUID | None = None,
    mended: Replacement | None = None,
    rulings: Mapping[str, Ruling] = NO_RULINGS,
) -> UUID:
    """Enqueue a failed, canceled or dead job again; returns the new job's id. The relay publishes it.

    A dead job is replayed by its dead letter, which is closed. Raises `Gone` when there is no such job (of the org),
    `Conflict` when it has not ended, has succeeded or was retried before, or when another job has its key, and
    `Invalid` for a doubtful effect without a ruling.
    """
    check_text("reason", reason)
    for job in dead_letters.lock_jobs(tx, [job_id], org_id):
        check_retry(tx, job)
        if job.state == State.DEAD:
            return replay(tx, job_id, by=by, reason=reason, mended=mended, rulings=rulings)
        rule(tx, job, rulings, by)
        return _the_one(retry_jobs(tx, [(job, mended)], by=by, reason=reason))
    raise Gone(f"there is no job {job_id}")


def replay_letters(
    tx: Transaction,
    letters: Sequence[tuple[DeadLetter, Replacement | None]],
    *,
    by: Origin,
    reason: str,
    facts: JsonObject | None = None,
) -> Mapping[UUID, UUID | Conflict]:
    """Enqueue dead jobs again, by their open letters, which the transaction holds; some with another payload.

    None may have a doubtful effect. By job: the new job's id, or that another job has the key; its letter stays open.
    `facts` are added to each entry of the audit log.
    """
    found = _enqueue_again(tx, letters, by)
    replayed: dict[UUID, UUID] = {}
    events = []
    for letter, mended in letters:
        again = found[letter.job_id]
        if isinstance(again, UUID):
            replayed[letter.letter_id] = again
            changes = redact(payload_changes(letter.payload, mended.payload)) if mended else []
            told = {"replay_job_id": str(again), "reason": reason, "changes": changes}
            events.append(_closing(letter, told, facts))
    dead_letters.close(tx, replayed, state="replayed", by=by.actor_id, why=reason)
    deeds.record_each(tx, "deadletter.replayed", events, by=by)
    return found


def retry_jobs(
    tx: Transaction,
    jobs: Sequence[tuple[Row, Replacement | None]],
    *,
    by: Origin,
    reason: str,
    facts: JsonObject | None = None,
) -> Mapping[UUID, UUID | Conflict]:
    """As `replay_letters`, for failed and canceled jobs of `dead_letters.lock_jobs` that `check_retry` has let pass."""
    found = _enqueue_again(tx, jobs, by)
    events = []
    for job, mended in jobs:
        again = found[job.job_id]
        if isinstance(again, UUID):
            data: JsonObject = {"replay_job_id": str(again), "reason": reason, **(facts or {})}
            if mended is not None:
                data["changes"] = redact(payload_changes(job.payload, mended.payload))
            events.append(JobEvent(job.job_id, job.job_type, job.org_id, data))
    deeds.record_each(tx, "job.replayed", events, by=by)
    return found


def discard(tx: Transaction, letter_id: UUID, *, by: Origin, reason: str) -> None:
    """Close a letter for good; raises `Gone` or `Conflict`."""
    check_text("reason", reason)
    discard_letters(tx, [opened(tx, letter_id)], by=by, reason=reason)


def discard_letters(
    tx: Transaction, letters: Sequence[DeadLetter], *, by: Origin, reason: str, facts: JsonObject | None = None
) -> None:
    """Close open letters, which the transaction holds, for good."""
    closed = dict.fromkeys([one.letter_id for one in letters])
    dead_letters.close(tx, closed, state="discarded", by=by.actor_id, why=reason)
    events = [_closing(one, {"reason": reason}, facts) for one in letters]
    deeds.record_each(tx, "deadletter.discarded", events, by=by)
    for letter in letters:
        reminders.give_up(tx, letter.org_id, letter.job_type, letter.payload)


def opened(tx: Transaction, letter_id: UUID) -> DeadLetter:
    """An open letter by its own or its job's id, held until the transaction ends."""
    for letter in dead_letters.lock(tx, [letter_id]):
        check_open(letter)
        return letter
    raise Gone(f"there is no dead letter {letter_id}")


def check_open(letter: DeadLetter) -> None:
    """Raise `Conflict` for a letter that somebody has closed."""
    if letter.state != "open":
        raise Conflict(f"dead letter {letter.letter_id} is {letter.state} already")


def rule(tx: Transaction, job: EndedJob, rulings: Mapping[str, Ruling], by: Origin) -> None:
    """Write down what a person found out about a job's doubtful effects; each needs a ruling, nothing else has one."""
    doubtful = dead_letters.doubtful_effects(tx, [job]).get(job.job_id, frozenset())
    check_rulings(doubtful, rulings)
    for key, ruling in rulings.items():
        dead_letters.rule_effect(tx, job.org_id, key, happened=ruling.happened, result=ruling.result)
        facts = {"key": key, "happened": ruling.happened, "result": redact(ruling.result)}
        deeds.record(tx, "effect.ruled", facts, by=by, org_id=job.org_id, job=(job.job_id, job.job_type))


def check_rulings(doubtful: AbstractSet[str], rulings: Mapping[str, Ruling] = NO_RULINGS) -> None:
    """Raise `Invalid` for a doubtful effect without a ruling, and for a ruling of another effect."""
    for key in sorted(doubtful ^ set(rulings)):
        trouble = "nobody knows whether it happened: say so" if key in doubtful else "is no doubtful effect of this job"
        raise Invalid(f"effect {key}", trouble)


def check_retry(tx: Transaction, job: Row) -> None:
    """Raise `Conflict` for a job of `dead_letters.lock_jobs` that cannot be done again, or was."""
    state = State(job.state)
    if not state.final:
        raise Conflict(f"job {job.job_id} is {state.value}: it has not ended")
    if state is State.SUCCEEDED:
        raise Conflict(f"job {job.job_id} has succeeded; enqueue a new one")
    if job.replay_job_id:
        raise Conflict(f"job {job.job_id} was retried already, as job {job.replay_job_id}")
    actions.check_retry(tx, job.job_type, job.payload)


def _enqueue_again(
    tx: Transaction, jobs: Sequence[tuple[EndedJob, Replacement | None]], by: Origin
) -> Mapping[UUID, UUID | Conflict]:
    """Enqueue a new job for each that has ended, which hands over what it has begun; or say who has its key."""
    inherited = {row.job_id: row for row in dead_letters.release(tx, [job for job, _ in jobs])}
    wanted = [_again(job, inherited.get(job.job_id), mended, by) for job, mended in jobs]
    answers = ledger.enqueue(tx, wanted, publisher=False, hint_timeout=timedelta(0))
    found: dict[UUID, UUID | Conflict] = {}
    heirs: dict[UUID, UUID] = {}
    for (job, _), answer in zip(jobs, answers, strict=True):
        taken = Conflict(f"job {answer.job_id} has the same key; let it end or cancel it first")
        found[job.job_id] = answer.job_id if answer.created else taken
        if answer.created:
            heirs[job.job_id] = answer.job_id
    dead_letters.hand_over(tx, heirs, with_steps=[job.job_id for job, mended in jobs if mended is None])
    return found


def _again(job: EndedJob, old: Row | None, mended: Replacement | None, by: Origin) -> NewJob:
    """The new job. It keeps the correlation of the whole chain."""
    again = NewJob(
        job_type=job.job_type,
        org_id=job.org_id,
        payload=mended.payload if mended else job.payload,
        payload_version=mended.version if mended else job.payload_version,
        origin=by,
        replay_of=job.job_id,
    )
    if old is None:
        # The dead job is past its retention: its letter knows what it was about, and its key is free by now.
        return again
    return again._replace(
        project_id=old.project_id,
        priority=old.priority,
        parent_id=old.parent_id,
        origin=by._replace(correlation_id=old.correlation_id, traceparent=old.traceparent),
        retry_base_s=old.retry_base_s,
        retry_cap_s=old.retry_cap_s,
        idempotency_key=named_key(old, job.job_type, job.org_id),
        folds=True,  # the operator is told which job has the key
        keys_of=keys_of(old),
    )


def _the_one(found: Mapping[UUID, UUID | Conflict]) -> UUID:
    (answer,) = found.values()
    if isinstance(answer, Conflict):
        raise answer
    return answer


def _closing(letter: DeadLetter, said: JsonObject, facts: JsonObject | None) -> JobEvent:
    data = {"dead_letter_id": str(letter.letter_id), **said, **(facts or {})}
    return JobEvent(letter.job_id, letter.job_type, letter.org_id, data)


def named_key(job: Row, job_type: str, org_id: UUID) -> str | None:
    """The key that the job's caller named; None when its type derived one, as it does again for another job."""
    derived = job.space != "named" and job.idempotency_key.startswith(f"{job_type}:{org_id}:")
    return job.idempotency_key if job.guarded and not derived else None


def keys_of(job: Row) -> KeysOf | None:
    """Whose key space the job's key is of, which the job that does it again inherits."""
    return {"client": KeysOf.CLIENT, "job": KeysOf.FLEET}.get(job.space)
