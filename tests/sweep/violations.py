"""What must hold after a recovery (docs: promises.md), read from the ledger, the audit log and the journals."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from psycopg import Connection

from domain.jobs.effects import Strategy
from domain.jobs.uniqueness import UniqueMode
from engine.catalogue import catalogue
from tests.doubles.inline_worker import Station
from tests.invariants import check_ledger
from tests.sweep.boundaries import Boundary, Fault, Kind, Point
from tests.sweep.fixture import Trial
from tests.sweep.outside import PAID, REPEATABLE

FRAME = frozenset(
    {
        "alembic_version",
        "audit_entries",
        "broker_epochs",
        "dead_letters",
        "idempotency_keys",
        "job_steps",
        "job_types",
        "jobs",
        "relay_leader",
        "restorations",
        "serial_slots",
        "serial_waiters",
        "tenant_seal",
        "workers",
    }
)
"""The engine's own tables: checked by the invariants, not by comparison."""

KEEPS = frozenset({"save_step", "book_call"})
"""The statements that keep a paid answer."""

TOLD_TWICE = frozenset({"budget_days", "budget_reservations", "expected_writes", "llm_calls"})
"""What an attempt that is repeated rightly writes again: an expectation before each call, a bill for each answer, and
money set aside by a process that died, which is charged later because nobody knows whether the call was billed."""

DIFFERS = frozenset({"uuid", "bytea", "timestamp with time zone", "interval"})
"""Types whose values differ from run to run, as times and measured durations do; whether there is one is compared."""

DIFFERENT_COLUMNS = frozenset(
    {"history_id", "token_version", "draft_token", "token", "draft_id", "draft_message_id", "data_hash"}
)
"""Of an outside draft's ids, which follow the order of all that was made there, only the presence is compared. So of
the hash of data in which times may stand: the data themselves are compared."""

MADE_ID = re.compile(r'"(r\d{10,}|[0-9a-f]{16})"')
POSTPONED = frozenset({"refresh_owner", "refresh_until"})
"""Who refreshes a token: when that process dies, the others use the old one while it lasts, and its lease lapses."""

SHOWN = 60
VARIES = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.+Z-]+|(?<=\")\d{18,20}(?=\")"
    r"|\d{1,2} [A-Z][a-z]+, \d\d:\d\d UTC|(?<=/messages/0:)\d+"
)
"""Ids, times, as people read them too, the ids of Discord, which are made of the time, and those of FCM, which gives
another to a repetition."""


@dataclass(frozen=True)
class Ending:
    """How a trial ended: what is stored, what the providers hold, what was done there."""

    jobs: Counter[str]
    rows: Counter[str]
    events: Counter[str]
    outside: dict[str, Any]
    calls: Counter[str]
    unknown: int


def ending_of(trial: Trial) -> Ending:
    """Read everything that is compared."""
    database = trial.database
    jobs = database.execute("select job_type || ' ' || state from jobs").fetchall()
    events = database.execute("select event from audit_log where event not like 'job.%' and event not like 'effect.%'")
    unknown = database.execute("select count(*) from idempotency_keys where status = 'unknown'").fetchone()
    assert unknown is not None
    files = database.execute("select org_id || '/' || id, sha256 from artifacts").fetchall()
    return Ending(
        jobs=Counter(row[0] for row in jobs),
        rows=Counter(_rows(database)),
        events=Counter(row[0] for row in events),
        outside=_without_ids(trial.outside.state() | {"artifacts": trial.outside.files(dict(files))}),
        calls=trial.outside.calls(),
        unknown=int(unknown[0]),
    )


def _without_ids(outside: dict[str, Any]) -> dict[str, Any]:
    """What the providers hold, without the ids that they gave: jobs that were rescued run in another order."""
    shown: dict[str, Any] = json.loads(MADE_ID.sub('"*"', json.dumps(outside)))
    return shown


def violations(
    trial: Trial, found: Ending, wanted: Ending, point: Point | None, crossed: Sequence[Boundary]
) -> list[str]:
    """Everything that is wrong with a trial after its recovery; without a point nothing had gone wrong in it."""
    wrong = [
        *_ledger(trial),
        *_effects(trial.database),
        *_calls(found, wanted, point is not None and _may_pay_again(point, crossed)),
    ]
    wrong += [f"P5: {hint.job_type} was published before it was committed" for hint in trial.premature]
    wrong += missed(trial.stations)
    if trial.end.startswith(("left", "escaped")):
        wrong.append(f"P1: the attempt was {trial.end}")
    if not found.unknown:
        wrong += _differences(found, wanted)
    return wrong


def missed(stations: Collection[Station]) -> list[str]:
    """What a job did not go through on its way to its end, as a violation: a promise is shown for that way only."""
    names = [station.value for station in Station if station not in stations]
    return [f"the job did not go through {', '.join(names)}"] if names else []


def _ledger(trial: Trial) -> Iterator[str]:
    try:
        check_ledger(trial.database)
    except AssertionError as problem:
        yield f"P1, P2: {problem}"


def _effects(database: Connection[Any]) -> Iterator[str]:
    """An effect has ended; one that nobody can know about has its dead letter (P3)."""
    rows = database.execute(
        "select k.key, k.mode, k.status, j.state, exists (select from dead_letters d where d.job_id = k.job_id)"
        " from idempotency_keys k left join jobs j on j.id = k.job_id where k.kind = 'effect'"
    )
    for key, mode, status, state, has_letter in rows:
        # One that may be done twice needs no finding out: the next attempt may see that there is nothing left to do.
        if status in {"pending", "running"} and mode != Strategy.IDEMPOTENT:
            yield f"P3: effect {key} is {status} although its job is {state}"
        if status == "unknown" and not has_letter:
            yield f"P3: nobody knows of effect {key}, and no dead letter asks for a decision"


def _calls(found: Ending, wanted: Ending, paid_again: bool) -> Iterator[str]:
    for call, times in found.calls.items():
        provider, operation, _path = call.split(maxsplit=2)
        most = wanted.calls[call] + (f"{provider} {operation}" in PAID and paid_again)
        if not REPEATABLE & {operation, f"{provider} {operation}"} and times > most:
            yield f"P3: {call} was done {times} times instead of {most}"
    for call, times in wanted.calls.items():
        if not found.unknown and call.split()[1] not in REPEATABLE and found.calls[call] < times:
            yield f"P3: {call} was done {found.calls[call]} times instead of {times}"


def _may_pay_again(point: Point, crossed: Sequence[Boundary]) -> bool:
    """An answer that was paid for and not kept is asked for again; nobody can help that."""
    place = place_of(point, crossed)
    for start, boundary in enumerate(crossed):
        if boundary.kind is not Kind.CALL or not boundary.label.startswith("anthropic"):
            continue
        kept = _kept_at(start, crossed)
        if start < place <= kept or (place == start and point.fault in {Fault.DEATH_AFTER, Fault.LOST, Fault.LATE}):
            return True
    return False


def _kept_at(call: int, crossed: Sequence[Boundary]) -> int:
    """Where the answer to a call is kept for later attempts: at the step, or at the commit around it."""
    kept = next((at for at, later in enumerate(crossed) if at > call and later.label in KEEPS), call)
    if crossed[kept].durable:
        return kept
    return next((at for at, later in enumerate(crossed) if at > kept and later.kind is Kind.COMMIT), kept)


def place_of(point: Point, crossed: Sequence[Boundary]) -> int:
    """Where in the recorded run a point lies."""
    places = [at for at, one in enumerate(crossed) if (one.kind is Kind.CALL) == point.outside]
    return places[point.ordinal]


def _differences(found: Ending, wanted: Ending) -> Iterator[str]:
    for what, here, there in (("jobs", found.jobs, wanted.jobs), ("events", found.events, wanted.events)):
        surplus, lack = sorted(set(here - there) - _asked_again()), dict(there - here)
        if surplus or lack:
            yield f"another end: {what} has {surplus} instead of {lack}"
    more, less = sorted((found.rows - wanted.rows).elements()), sorted((wanted.rows - found.rows).elements())
    if more or less:
        pairs = [_difference(one, other) for one, other in zip_longest(more, less, fillvalue="nothing")]
        yield f"another end: {'; '.join(pairs)}"
    if found.outside != wanted.outside:
        yield f"another end outside: {_first_difference(found.outside, wanted.outside)}"


def _asked_again() -> set[str]:
    """What may succeed once more than it did: a child whose parent lost its claim after the child had ended.

    Such a type refuses a second job only while the first is under way; it is made to find nothing left to do.
    """
    declared = (known.declared for known in catalogue)
    lasting = (one for one in declared if one.unique is not None and one.unique.mode is not UniqueMode.FOR_TTL)
    return {f"{one.job_type} succeeded" for one in lasting}


def _difference(found: str, wanted: str) -> str:
    """What differs between two rows, with what stands around it."""
    at = next((at for at, (one, other) in enumerate(zip(found, wanted, strict=False)) if one != other), 0)
    around = slice(max(0, at - SHOWN), at + SHOWN)
    return f"{found.split(maxsplit=1)[0]} …{found[around]}… instead of …{wanted[around]}…"


def _first_difference(found: Any, wanted: Any, path: str = "") -> str:  # noqa: ANN401 - any JSON
    if isinstance(found, dict) and isinstance(wanted, dict) and found.keys() == wanted.keys():
        key = next(key for key in found if found[key] != wanted[key])
        return _first_difference(found[key], wanted[key], f"{path}/{key}")
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        at = next(at for at, one in enumerate(found) if one != wanted[at])
        return _first_difference(found[at], wanted[at], f"{path}/{at}")
    return f"{path} is {found} instead of {wanted}"


def _rows(database: Connection[Any]) -> Iterator[str]:
    types = _read_types(database)
    for table in sorted({table for table, _ in types} - FRAME - TOLD_TWICE):
        for row in database.execute(f"select to_jsonb(t) from {table} t"):
            kept = {name: value for name, value in row[0].items() if name not in POSTPONED}
            shown = {name: _shown(value, name, types[table, name]) for name, value in kept.items()}
            yield f"{table} {VARIES.sub('*', json.dumps(shown, sort_keys=True))}"


def _read_types(database: Connection[Any]) -> dict[tuple[str, str], str]:
    """The columns of every table; a scenario may have made one of its own."""
    rows = database.execute(
        # A sequence goes on where a transaction was undone.
        "select c.table_name, c.column_name, case when c.is_identity = 'YES' then 'uuid' else c.data_type end"
        " from information_schema.columns c"
        " join information_schema.tables t using (table_schema, table_name)"
        " where c.table_schema = 'public' and t.table_type = 'BASE TABLE'"
    )
    return {(table, column): kind for table, column, kind in rows}


def _shown(value: Any, name: str, kind: str) -> Any:  # noqa: ANN401 - any JSON
    if value is not None and (kind in DIFFERS or name in DIFFERENT_COLUMNS):
        return "*"
    return value
