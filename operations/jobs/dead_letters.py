"""Dead letters: what died and what can be done about it; replay it, as it was or mended, or discard it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.jobs.queues import Queue
from operations.call import Call
from operations.jobs import replays
from operations.jobs.replays import Ruling
from operations.operation import WORDS, Area, Reason, Record, Route
from operations.pages import Page, Window
from storage.jobs.replays import dead_letters
from storage.jobs.replays.dead_letters import DeadLetter, LetterPosition
from storage.postgres.database import Transaction

DEAD_LETTERS = Area(
    "deadletters", "Look at what died, replay it, or discard it. A letter goes by its own id or by its job's."
)
MENDED = "the cause is mended"
MOST_GROUPS = 100


class LetterState(StrEnum):
    """What became of a letter; `all` asks for letters in any state."""

    OPEN = "open"
    REPLAYED = "replayed"
    DISCARDED = "discarded"
    ALL = "all"


class DeadLetterLine(Record):
    """One dead letter in a list."""

    plural: ClassVar = "dead_letters"
    columns: ClassVar = ("letter_id", "job_id", "job_type", "state", "reason", "plan", "created_at")
    letter_id: UUID
    job_id: UUID
    job_type: str
    queue: Queue
    org_id: UUID
    state: LetterState
    reason: str
    plan: str = Field(description="What can be done about it.")
    replay_job_id: UUID | None
    resolution: str | None = Field(description="Why it was closed.")
    resolved_by: str | None
    created_at: datetime
    resolved_at: datetime | None


class LetterGroup(Record):
    """Open dead letters of one job type with one code of errors."""

    plural: ClassVar = "groups"
    error_code: str
    job_type: str
    letters: int
    orgs: int = Field(description="Of so many orgs.")
    first_at: datetime
    last_at: datetime


class DeadLetterView(DeadLetterLine):
    """A dead letter with its diagnostics."""

    values: ClassVar = ("payload", "history.data.*")
    payload: JsonObject
    payload_version: int
    error: JsonObject
    history: list[JsonObject]
    effects: list[JsonObject]


class ReplayedLetter(Record):
    """The new job that does a dead one again."""

    letter_id: UUID
    state: LetterState
    job_id: UUID


class DiscardedLetter(Record):
    """A letter that was closed for good."""

    letter_id: UUID
    state: LetterState


@DEAD_LETTERS.look("list", Route("GET", "/dead-letters"), org="optional", looks_back=True)
def list_dead_letters(
    call: Call,
    window: Window,
    *,
    state: Annotated[LetterState, Field(description="Only this state.")] = LetterState.OPEN,
    job_type: Annotated[str | None, Field(max_length=100, description="Only this job type.")] = None,
    error_code: Annotated[
        str | None, Field(max_length=200, description="Only letters whose error has this code.")
    ] = None,
) -> Page[DeadLetterLine]:
    """List dead letters, the newest first."""
    asked = None if state is LetterState.ALL else state.value
    with call.reading() as tx:
        found = dead_letters.listed(
            tx, state=asked, job_type=job_type, code=error_code, after=window.after(LetterPosition), limit=window.limit
        )
    return window.page(
        found.rows,
        DeadLetterLine.model_validate,
        lambda letter: LetterPosition(letter.created_at, letter.letter_id),
        reached=found.reached,
    )


@DEAD_LETTERS.look("groups", Route("GET", "/dead-letter-groups"), org="optional", looks_back=True)
def list_letter_groups(call: Call) -> Page[LetterGroup]:
    """List the groups of open dead letters by the code of their error and their job type, the largest first."""
    with call.reading() as tx:
        rows = dead_letters.grouped(tx, limit=MOST_GROUPS)
    return Page([LetterGroup.model_validate(row) for row in rows], None, rows[0].reached if rows else None)


@DEAD_LETTERS.look("show", Route("GET", "/dead-letters/{letter_id}"))
def read_dead_letter(call: Call, letter_id: UUID) -> DeadLetterView:
    """Show a dead letter, its diagnostics and what can be done about it."""
    with call.reading() as tx:
        return DeadLetterView.model_validate(_found(tx, call, letter_id))


@DEAD_LETTERS.deed(
    "replay",
    Route("POST", "/dead-letters/{letter_id}/replay", location="/v1/jobs/{job_id}"),
    events=("deadletter.replayed", "effect.ruled"),
    ledger_audits=True,
    keyed=True,
    many=True,
)
def replay_dead_letter(
    call: Call,
    letter_id: UUID,
    *,
    payload: Annotated[JsonObject | None, Field(description="A mended payload, instead of the dead job's.")] = None,
    happened: Annotated[
        dict[str, JsonObject] | None,
        Field(description="The keys of doubtful effects that did happen, each with what it gave."),
    ] = None,
    did_not_happen: Annotated[
        list[str] | None, Field(description="The keys of doubtful effects that did not happen.")
    ] = None,
    reason: Reason = None,
) -> ReplayedLetter:
    """Enqueue a dead job again, under a new id that names the old one. Its letter is closed.

    Refused while nobody has said of each of its doubtful effects whether it happened.
    """
    rulings = rulings_of(happened or {}, did_not_happen or ())

    def replay() -> list[UUID]:
        mended = replays.replacement(tx, replays.opened(tx, letter_id), payload=payload)
        return [replays.replay(tx, letter_id, by=call.origin, reason=reason or MENDED, mended=mended, rulings=rulings)]

    with call.writing() as tx:
        letter = _found(tx, call, letter_id)
        (made,) = call.once(tx, replay)
    return ReplayedLetter(letter_id=letter.letter_id, state=LetterState.REPLAYED, job_id=made)


@DEAD_LETTERS.deed(
    "discard",
    Route("POST", "/dead-letters/{letter_id}/discard"),
    events=("deadletter.discarded",),
    ledger_audits=True,
    many=True,
)
def discard_dead_letter(
    call: Call,
    letter_id: UUID,
    *,
    reason: Annotated[str, Field(pattern=WORDS, max_length=1000, description="Why; it is kept with the letter.")],
) -> DiscardedLetter:
    """Close a dead letter for good."""
    with call.writing() as tx:
        letter = _found(tx, call, letter_id)
        replays.discard(tx, letter_id, by=call.origin, reason=reason)
    return DiscardedLetter(letter_id=letter.letter_id, state=LetterState.DISCARDED)


def rulings_of(happened: Mapping[str, JsonObject], did_not_happen: Sequence[str]) -> Mapping[str, Ruling]:
    """What a person says of each effect; raises `Invalid` where that contradicts itself."""
    for key in set(happened) & set(did_not_happen):
        raise Invalid(f"effect {key}", "cannot have happened and not have happened")
    return {key: Ruling(happened=True, result=result) for key, result in happened.items()} | {
        key: Ruling(happened=False) for key in did_not_happen
    }


def _found(tx: Transaction, call: Call, letter_id: UUID) -> DeadLetter:
    return call.found(dead_letters.get(tx, letter_id), f"dead letter {letter_id}")
