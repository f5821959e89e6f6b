"""The ledger does what its model does, in any order of claims, crashes, late hints, gates and leaps of the clock.

`make one T='tests/model --model-examples 2000'` plays that many new random examples; the suite's few stay the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from psycopg import Connection

from domain.jobs.lifecycle import Settlement
from storage.jobs import ledger, recovery
from storage.jobs.answers import ClaimResult, Settled
from storage.jobs.ledger import Moved
from storage.postgres.database import Database, Transaction
from tests.model.ledger_fixture import LedgerFixture, Verbs
from tests.model.ledger_machine import LedgerMachine
from tests.model.ledger_model import KINDS

STEPS = 40
EXAMPLES = 40
"""A couple of hundred milliseconds each."""
UNTIL_FOUND = 400
"""A broken verb is found within a few examples, and no more are played then. On a busy machine 40 were too few once,
for the same steps may take another way where the ledger reads the clock."""


@pytest.fixture
def ledger_fixture(store: Database, database: Connection) -> LedgerFixture:
    return LedgerFixture(store, database)


def play(ledger_fixture: LedgerFixture, verbs: Verbs, examples: int, *, fixed: bool = True) -> None:
    """Run the machine: random steps from an empty ledger, `examples` times."""
    bounds = settings(
        max_examples=examples,
        derandomize=fixed,
        stateful_step_count=STEPS,
        # Examples share servers with other tests, and a report of each step would be longer than it helps.
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
        report_multiple_bugs=False,
        # Without shrinking, which takes minutes: a report names each step anyway.
        phases=[Phase.generate],
    )

    class Played(LedgerMachine):
        def __init__(self) -> None:
            super().__init__(ledger_fixture, verbs)

    run_state_machine_as_test(Played, settings=bounds)


def test_ac_26_the_ledger_does_what_its_model_does(ledger_fixture: LedgerFixture, model_examples: int | None) -> None:
    play(ledger_fixture, Verbs(), model_examples or EXAMPLES, fixed=model_examples is None)


def test_the_same_steps_lead_to_the_same_place_whatever_way_postgresql_takes(ledger_fixture: LedgerFixture) -> None:
    """Else Hypothesis, which plays the beginning of an example again, finds its own data inconsistent."""
    played = []
    for last in KINDS:
        # A row that was written anew comes last where the table is read, and so do the requests that are joined to it.
        ledger_fixture.owner.execute("update job_types set queue = queue where name = %s", (last,))
        machine = LedgerMachine(ledger_fixture, Verbs())
        plain = {"org": 0, "account": "ann", "delay": None, "expires": None, "priority": 0}
        machine.begin(asked=[plain | {"kind": kind} for kind in KINDS])
        machine.relay()
        for _ in range(4):
            machine.claim_from_backlog(0, 0, 1)
        machine.agree()
        taken = [*machine.hints, *(job.job_id for job in machine.claimed)]
        played.append([list(machine.model.jobs).index(job_id) for job_id in taken])
    assert played == [played[0]] * len(KINDS)
    assert len(set(played[0])) > 3, "there was nothing to choose from"


def lost_claims_settle(tx: Transaction, settlements: Sequence[Settlement]) -> Settled:
    """A settlement that does not ask whose claim it is."""
    rows = tx.raw("select id, claim_token from jobs where claim_token is not null")
    tokens = {row.id: row.claim_token for row in rows}
    return ledger.settle(tx, [one._replace(token=tokens.get(one.job_id, one.token)) for one in settlements])


def slots_are_forgotten(tx: Transaction, job_ids: Sequence[UUID], worker_id: UUID, **given: Any) -> ClaimResult:  # noqa: ANN401 - as the verb's
    """A claim that does not keep its concurrency key."""
    claims = ledger.claim(tx, job_ids, worker_id, **given)
    tx.raw("delete from serial_slots")
    return claims


def starts_count_twice(tx: Transaction, starts: Sequence[tuple[UUID, UUID, datetime]]) -> frozenset[UUID]:
    """A start that counts two attempts."""
    written = ledger.record_starts(tx, starts)
    tx.raw(
        "update jobs set attempt = attempt + 1"
        " where state = 'running' and attempt < max_attempts and id = any (%(ids)s)",
        {"ids": [job_id for job_id, _, _ in starts]},
    )
    return written


def ends_are_starts(tx: Transaction, starts: Sequence[tuple[UUID, UUID, datetime]]) -> frozenset[UUID]:
    """A start that is written although the job has gone back meanwhile."""
    tx.raw(
        "update jobs set attempt = attempt + 1"
        " where state = 'queued' and attempt < max_attempts and id = any (%(ids)s)",
        {"ids": [job_id for job_id, _, _ in starts]},
    )
    return ledger.record_starts(tx, starts)


def losses_are_forgiven(tx: Transaction, *, batch: int) -> Moved:
    """A rescue that counts no loss, so that a poison job would never end."""
    moved = recovery.rescue(tx, batch=batch)
    tx.raw("update jobs set losses = 0 where finished_at is null")
    return moved


def the_living_are_robbed(tx: Transaction, *, batch: int) -> Moved:
    """A rescue that does not look at leases."""
    tx.raw("update workers set lease_until = now()")
    return recovery.rescue(tx, batch=batch)


def the_backlog_is_forgotten(tx: Transaction, job_ids: Sequence[UUID], worker_id: UUID, **given: Any) -> ClaimResult:  # noqa: ANN401 - as the verb's
    """A claim that takes nothing from the backlog."""
    return ledger.claim(tx, job_ids, worker_id, **(given | {"demand": {}}))


BROKEN: dict[str, Callable[..., Any]] = {
    "settle": lost_claims_settle,
    "claim": slots_are_forgotten,
    "record_starts": ends_are_starts,
    "rescue": losses_are_forgiven,
}


@pytest.mark.parametrize(
    ("verb", "broken"),
    [
        *BROKEN.items(),
        ("record_starts", starts_count_twice),
        ("claim", the_backlog_is_forgotten),
        ("rescue", the_living_are_robbed),
    ],
    ids=lambda given: getattr(given, "__name__", given),
)
def test_a_broken_verb_is_found(ledger_fixture: LedgerFixture, verb: str, broken: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError):
        play(ledger_fixture, replace(Verbs(), **{verb: broken}), UNTIL_FOUND)
