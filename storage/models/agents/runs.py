"""Runs of agents: begun with their job, ended by it, or by the hook when the job ends in another way."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.clean_text import clean_text
from domain.jobs.job import JsonObject
from domain.models.agents.loop import Finish, RunStatus
from domain.models.agents.transcript import ModelTurn, cost_of
from domain.orgs.privacy.redaction import redact_text
from storage.mail.messages import Message, message_of
from storage.models.agents.profiles import StoredProfile
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

MOST_REASON = 1_000
MOST_SAID = 2_000
MOST_WHY = 300


@dataclass(frozen=True, slots=True)
class BegunRun:
    """A run as its job finds it; `worked` is how long its attempts have worked so far.

    `may_have_answers` where an earlier attempt, or the job that this one does again, may have kept some.
    """

    run_id: UUID
    profile_version: int
    status: RunStatus
    worked: timedelta
    may_have_answers: bool


class RunSubject(NamedTuple):
    """What a run is about: a mailbox, if it has one; a message and its thread, or the schedule that asked."""

    account_id: UUID | None = None
    thread_id: str | None = None
    message_id: str | None = None
    schedule_id: UUID | None = None


def begin(tx: Transaction, job_id: UUID, subject: RunSubject, profile: StoredProfile) -> BegunRun:
    """Begin a job's run, or find the one that an earlier attempt has begun."""
    rows = tx.run(
        "begin_agent_run",
        org_id=profile.org_id,
        job_id=job_id,
        profile=profile.name,
        profile_version=profile.version,
        profile_id=profile.profile_id,
        model=profile.profile.model,
        **subject._asdict(),
    )
    return BegunRun(**(rows[0]._asdict() | {"status": RunStatus(rows[0].status)}))


def record_work(tx: Transaction, run_id: UUID, worked: timedelta) -> None:
    """How long the run's attempts have worked by now; another one may follow."""
    tx.run("record_agent_work", run_id=run_id, worked=worked)


def jobs_done_again(tx: Transaction, job_id: UUID) -> frozenset[UUID]:
    """A job, and those that it does again as an operator's replay or retry: their answers and effects are its own."""
    return frozenset(row.job_id for row in tx.run("list_replayed_jobs", job_id=job_id))


def finish(
    tx: Transaction, run_id: UUID, finish: Finish, turns: Sequence[ModelTurn], *, preview: str, pending_actions: int = 0
) -> bool:
    """End a run with what it came to; false when it had ended before."""
    rows = tx.run(
        "finish_agent_run",
        run_id=run_id,
        status=str(finish.status),
        stopped_by=None if finish.limit is None else str(finish.limit),
        reason=redact_text(finish.reason)[:MOST_REASON],
        turns=len(turns),
        cost=cost_of(turns),
        refused_calls=sum(result.is_error for turn in turns for result in turn.results),
        pending_actions=pending_actions,
        preview=redact_text(preview),
        told=Jsonb([_turn_document(turn) for turn in turns]),
    )
    return bool(rows)


def of_message(tx: Transaction, account_id: UUID, message_id: str) -> Sequence[Row]:
    """The runs about a message, the latest first."""
    of_all = {"org_id": None, "after_started_at": None, "after_run_id": None}
    return tx.run("list_agent_runs", account_id=account_id, message_id=message_id, **of_all, limit=50)


def search(
    tx: Transaction,
    account_id: UUID,
    query: str,
    *,
    but_thread: str = "",
    seen_by: Collection[str],
    limit: int,
) -> tuple[Message, ...]:
    """The account's newest messages of other threads that hold all the words of a query.

    With addresses in `seen_by` only those that each of them has sent or received; the account's last 2,000 messages are
    looked through, and those in the trash or in spam are left out.
    """
    words = list(dict.fromkeys(query.lower().split()))[:20]
    values = {"words": words, "seen_by": sorted(seen_by), "but_thread": but_thread, "limit": limit}
    return tuple(message_of(row) for row in tx.run("search_messages", account_id=account_id, **values))


def have_seen(tx: Transaction, account_id: UUID, people: Collection[str], message_ids: Collection[str]) -> bool:
    """Whether each of these people has sent or received each of these messages."""
    values = {"people": sorted(people), "message_ids": sorted(message_ids)}
    return not tx.run("find_mail_unseen_by", account_id=account_id, **values)


def _turn_document(turn: ModelTurn) -> JsonObject:
    """A turn without the mail that its tools showed: what was called, and why a call was refused."""
    by_id = {result.call_id: result for result in turn.results}
    calls: list[JsonObject] = []
    for call in turn.answer.calls:
        result = by_id.get(call.call_id)
        refused = clean_text(result.text)[:MOST_WHY] if result is not None and result.is_error else None
        calls.append({"tool": redact_text(clean_text(call.name[:100])), "refused": refused})
    return {
        "stop_reason": turn.answer.stop_reason[:100],
        "said": redact_text(clean_text(turn.answer.text))[:MOST_SAID],
        "calls": calls,
        "cost": turn.answer.cost_microcents,
    }
