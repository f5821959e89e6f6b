"""Jobs that are done again: by their dead letters, as they were or mended, or because they failed. Each is audited."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from domain.jobs.contract import check_text
from domain.jobs.failures import Conflict, Gone, Invalid
from domain.jobs.job import JsonObject, KeysOf, NewJob, Origin, State
from domain.jobs.payload_changes import payload_changes
from domain.orgs.privacy.redaction import redact
from storage.jobs import dead_letters, ledger
from storage.jobs.audit_log import deeds
from storage.jobs.dead_letters import DeadLetter
from storage.mail.actions import actions
from storage.notifications import reminders
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

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
    dead = dead_letters.release_dead_job(tx, letter.job_id)
    job = _replay_of(letter, dead, mended, by)
    answer = ledger.enqueue(tx, [job], publisher=False, hint_timeout=timedelta(0))[0]
    if not answer.created:
        raise Conflict(f"job {answer.job_id} has the same key; let it end or cancel it first")
    dead_letters.hand_over(tx, letter.job_id, answer.job_id, steps=mended is None)
    changes = redact(payload_changes(letter.payload, mended.payload)) if mended else []
    facts = {"replay_job_id": str(answer.job_id), "reason": reason, "changes": changes}
    _close(tx, letter, "replayed", facts, by, answer.job_id)
    return answer.job_id


def retry(
    tx: Transaction,
    job_id: UUID,
    *,
    by: Origin,
    reason: str,
    org_id: UUID | None = None,
    rulings: Mapping[str, Ruling] = NO_RULINGS,
) -> UUID:
    """Enqueue a failed, canceled or dead job again; returns the new job's id. The relay publishes it.

    A dead job is replayed by its dead letter, which is closed. Raises `Gone` when there is no such job (of the org),
    `Conflict` when it has not ended, has succeeded or was retried before, or when another job has its key, and
    `Invalid` for a doubtful effect without a ruling.
    """
    check_text("reason", reason)
    job = dead_letters.lock_job(tx, job_id, org_id)
    if job is None:
        raise Gone(f"there is no job {job_id}")
    _check(job)
    actions.check_retry(tx, job.job_type, job.payload)
    if job.state == State.DEAD:
        return replay(tx, job_id, by=by, reason=reason, rulings=rulings)
    rule(tx, job, rulings, by)
    dead_letters.release_ended_job(tx, job_id)
    again = ledger.enqueue(tx, [_retry_of(job, by)], publisher=False, hint_timeout=timedelta(0))[0]
    if not again.created:
        raise Conflict(f"job {again.job_id} has the same key; let it end or cancel it first")
    dead_letters.hand_over(tx, job_id, again.job_id, steps=True)
    facts = {"replay_job_id": str(again.job_id), "reason": reason}
    deeds.record(tx, "job.replayed", facts, by=by, org_id=job.org_id, job=(job_id, job.job_type))
    return again.job_id


def discard(tx: Transaction, letter_id: UUID, *, by: Origin, reason: str) -> None:
    """Close a letter for good; raises `Gone` or `Conflict`."""
    check_text("reason", reason)
    letter = opened(tx, letter_id)
    _close(tx, letter, "discarded", {"reason": reason}, by)
    reminders.give_up(tx, letter.org_id, letter.job_type, letter.payload)


def opened(tx: Transaction, letter_id: UUID) -> DeadLetter:
    """An open letter by its own or its job's id, held until the transaction ends."""
    tx.raw("select from dead_letters where id = %(id)s or job_id = %(id)s for update", {"id": letter_id})
    letter = dead_letters.get(tx, letter_id)
    if letter is None:
        raise Gone(f"there is no dead letter {letter_id}")
    if letter.state != "open":
        raise Conflict(f"dead letter {letter.letter_id} is {letter.state} already")
    return letter


def rule(tx: Transaction, letter: DeadLetter, rulings: Mapping[str, Ruling], by: Origin) -> None:
    """Write down what a person found out about a job's doubtful effects; each needs a ruling, nothing else has one."""
    doubtful = dead_letters.doubtful_effects(tx, letter.org_id, letter.job_id)
    for key in sorted(doubtful ^ set(rulings)):
        trouble = "nobody knows whether it happened: say so" if key in doubtful else "is no doubtful effect of this job"
        raise Invalid(f"effect {key}", trouble)
    for key, ruling in rulings.items():
        dead_letters.rule_effect(tx, letter.org_id, key, happened=ruling.happened, result=ruling.result)
        facts = {"key": key, "happened": ruling.happened, "result": redact(ruling.result)}
        deeds.record(tx, "effect.ruled", facts, by=by, org_id=letter.org_id, job=(letter.job_id, letter.job_type))


def _replay_of(letter: DeadLetter, dead: Row | None, mended: Replacement | None, by: Origin) -> NewJob:
    job = NewJob(
        job_type=letter.job_type,
        org_id=letter.org_id,
        payload=mended.payload if mended else letter.payload,
        payload_version=mended.version if mended else letter.payload_version,
        origin=by,
        replay_of=letter.job_id,
    )
    if dead is None:
        # The dead job is past its retention: its letter knows what it was about, and its key is free by now.
        return job
    return job._replace(
        project_id=dead.project_id,
        priority=dead.priority,
        parent_id=dead.parent_id,
        origin=by._replace(correlation_id=dead.correlation_id, traceparent=dead.traceparent),
        retry_base_s=dead.retry_base_s,
        retry_cap_s=dead.retry_cap_s,
        idempotency_key=named_key(dead, letter.job_type, letter.org_id),
        folds=True,  # the operator is told which job has the key
        keys_of=keys_of(dead),
    )


def named_key(job: Row, job_type: str, org_id: UUID) -> str | None:
    """The key that the job's caller named; None when its type derived one, as it does again for another job."""
    derived = job.space != "named" and job.idempotency_key.startswith(f"{job_type}:{org_id}:")
    return job.idempotency_key if job.guarded and not derived else None


def keys_of(job: Row) -> KeysOf | None:
    """Whose key space the job's key is of, which the job that does it again inherits."""
    return {"client": KeysOf.CLIENT, "job": KeysOf.FLEET}.get(job.space)


def _close(
    tx: Transaction, letter: DeadLetter, state: str, facts: JsonObject, by: Origin, replay: UUID | None = None
) -> None:
    why = str(facts["reason"])
    dead_letters.close(tx, letter.letter_id, state=state, by=by.actor_id, why=why, replay=replay)
    data = {"dead_letter_id": str(letter.letter_id), **facts}
    job = (letter.job_id, letter.job_type)
    deeds.record(tx, f"deadletter.{state}", data, by=by, org_id=letter.org_id, job=job)


def _check(job: Row) -> None:
    state = State(job.state)
    if not state.final:
        raise Conflict(f"job {job.job_id} is {state.value}: it has not ended")
    if state is State.SUCCEEDED:
        raise Conflict(f"job {job.job_id} has succeeded; enqueue a new one")
    if job.replay_job_id:
        raise Conflict(f"job {job.job_id} was retried already, as job {job.replay_job_id}")


def _retry_of(job: Row, by: Origin) -> NewJob:
    """The new job. Like the replay of a dead letter, it keeps the correlation of the whole chain."""
    return NewJob(
        job_type=job.job_type,
        org_id=job.org_id,
        payload=job.payload,
        payload_version=job.payload_version,
        project_id=job.project_id,
        origin=by._replace(correlation_id=job.correlation_id, traceparent=job.traceparent),
        retry_base_s=job.retry_base_s,
        retry_cap_s=job.retry_cap_s,
        idempotency_key=named_key(job, job.job_type, job.org_id),
        folds=True,  # the operator is told which job has the key
        keys_of=keys_of(job),
        priority=job.priority,
        parent_id=job.parent_id,
        replay_of=job.job_id,
    )
