"""One gate per cause: a pause and what the fleet closed by itself stand side by side, and each is opened by its own."""

from datetime import UTC, datetime, timedelta
from itertools import permutations
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.failures import Scope, Throttled
from domain.jobs.gate_causes import Cause
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from storage.jobs import gates, ledger, relay
from storage.jobs.gates import Gate
from storage.jobs.relay import Park
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org, pass_time
from tests.doubles.mail_factories import make_account

KEY = "default"


@pytest.fixture
def org(store: Database, database: Connection) -> UUID:
    make_job_type(store)
    return make_org(database)


def gate(cause: Cause, until: datetime | None = None) -> Gate:
    return Gate("queue", KEY, f"a reason of {cause}", until, f"who closes for {cause}", cause)


def close(store: Database, *closed: Gate) -> None:
    for one in closed:
        with store.ledger() as tx:
            gates.close(tx, one)


def closed_causes(store: Database) -> list[Cause]:
    with store.ledger() as tx:
        return [one.cause for one in gates.closed(tx)]


def open_gate(store: Database, cause: Cause | None) -> bool:
    with store.ledger() as tx:
        return gates.open_gate(tx, "queue", KEY, cause)


def let_out(store: Database) -> int:
    """What the relay does after a gate was opened; returns how many jobs moved."""
    with store.ledger() as tx:
        return relay.unpark(tx, [Park(name, 10) for name in gates.forget_ended(tx)])


@pytest.mark.parametrize("order", list(permutations([Cause.PAUSE, Cause.CONSENT, Cause.SLOW_DOWN])))
def test_a_pause_beside_a_longer_gate_outlives_it(store: Database, order: tuple[Cause, ...]) -> None:
    """Of two ends the later one once swallowed the other gate, and with it the pause, its reason and who wanted it."""
    ends = {
        Cause.PAUSE: datetime.now(UTC) + timedelta(minutes=5),
        Cause.SLOW_DOWN: datetime.now(UTC) + timedelta(hours=1),
    }
    close(store, *(gate(cause, ends.get(cause)) for cause in order))
    assert closed_causes(store) == [Cause.CONSENT, Cause.PAUSE, Cause.SLOW_DOWN]
    assert open_gate(store, Cause.CONSENT)
    assert not open_gate(store, Cause.CONSENT)
    with store.ledger() as tx:
        left = gates.closed(tx)
    assert list(left) == [gate(cause, ends[cause]) for cause in (Cause.PAUSE, Cause.SLOW_DOWN)]


def test_jobs_are_let_out_when_no_cause_keeps_them_back(store: Database, org: UUID, database: Connection) -> None:
    close(store, gate(Cause.PAUSE), gate(Cause.SLOW_DOWN))
    enqueue_one(store, org)
    parked = "select count(*) from jobs where parked_by = 'gate:queue:default'"
    assert database.execute(parked).fetchone() == (1,)
    assert open_gate(store, Cause.SLOW_DOWN)
    assert let_out(store) == 0
    assert database.execute(parked).fetchone() == (1,)
    assert open_gate(store, Cause.PAUSE)
    assert let_out(store) == 1
    assert database.execute(parked).fetchone() == (0,)


def test_without_a_cause_everything_opens(store: Database) -> None:
    close(store, gate(Cause.PAUSE), gate(Cause.BUDGET))
    assert open_gate(store, None)
    assert closed_causes(store) == []


def test_for_one_cause_the_later_end_wins(store: Database) -> None:
    soon, late = (datetime.now(UTC) + timedelta(minutes=minutes) for minutes in (1, 2))
    close(store, gate(Cause.SLOW_DOWN, late), gate(Cause.SLOW_DOWN, soon))
    with store.ledger() as tx:
        assert [one.until for one in gates.closed(tx)] == [late]


def test_a_settlement_closes_the_gates_of_the_jobs_that_it_settles(store: Database, org: UUID) -> None:
    now, settlements = datetime.now(UTC), []
    for provider, minutes in (("gmail", 1), ("gmail", 3), ("gmail", 2), ("lost", 9)):
        failure = Throttled(
            "slow down", retry_after=timedelta(minutes=minutes), scope=Scope.PROVIDER, provider=provider
        )
        job = claim_one(store, enqueue_one(store, org))
        token = job.token if provider == "gmail" else UUID(int=7)
        settlements.append(settlement_of(job._replace(token=token), failure, STANDARD, now, 0.0))
    with store.ledger() as tx:
        settled = ledger.settle(tx, settlements)
        closed = gates.closed(tx)
    assert settled.refused == (settlements[-1].job_id,)
    expected = Gate("provider", "gmail", "slow down", now + timedelta(minutes=3), "postroom", Cause.SLOW_DOWN)
    assert list(closed) == [expected]


def test_no_gate_closes_for_consent_while_somebody_has_the_account(store: Database, database: Connection) -> None:
    """Who connects it at that moment would not see the gate, and nobody would open it."""
    account = make_account(store)
    closing = Gate("account", str(account.account_id), "revoked", None, "postroom", Cause.CONSENT)
    database.execute(
        "update accounts set status = 'needs_reconsent', status_reason = 'revoked' where id = %s", (account.account_id,)
    )
    with database.transaction():
        database.execute("select from accounts where id = %s for no key update", (account.account_id,))
        close(store, closing)
        assert closed_causes(store) == []
    close(store, closing)
    assert closed_causes(store) == [Cause.CONSENT]


def park(store: Database, org: UUID, database: Connection, wait: timedelta, *, grows: bool) -> float:
    """Let a job find that its provider refuses us; returns for how many hours the gate is closed."""
    job = claim_one(store, enqueue_one(store, org))
    refused = Throttled("spent", retry_after=wait, scope=Scope.PROVIDER, provider="anthropic", grows=grows)
    with store.ledger() as tx:
        ledger.settle(
            tx,
            [settlement_of(job, refused, STANDARD, ledger.read_time(tx), 0)],
            hint_timeout=timedelta(minutes=1),
            burst=20,
        )
    ((hours,),) = database.execute("select extract(epoch from until - now()) / 3600 from gates").fetchall()
    return round(float(hours), 2)


@pytest.mark.parametrize(
    ("first", "grows", "afterwards"),
    [(1, True, [1, 2, 4, 8, 16, 24, 24]), (3, True, [3, 6, 12, 24]), (1, False, [1, 1, 1]), (0.25, True, [0.25, 0.25])],
)
def test_a_guessed_wait_grows_while_the_cause_stays(
    store: Database, org: UUID, database: Connection, first: float, grows: bool, afterwards: list[float]
) -> None:
    waits = []
    for _ in afterwards:
        waits.append(park(store, org, database, timedelta(hours=first), grows=grows))
        assert park(store, org, database, timedelta(hours=first), grows=grows) == waits[-1], "another job finds it, too"
        pass_time(database, timedelta(hours=waits[-1], seconds=5))
        let_out(store)
        assert closed_causes(store) == []
    assert waits == afterwards


def test_a_named_wait_is_no_guess_that_grows(store: Database, org: UUID, database: Connection) -> None:
    days = timedelta(days=31)
    assert park(store, org, database, days, grows=False) == 31 * 24
    pass_time(database, days + timedelta(seconds=5))
    assert park(store, org, database, timedelta(hours=1), grows=True) == 1


def test_a_gate_that_is_remembered_keeps_nobody_from_the_quick_way(
    store: Database, org: UUID, database: Connection
) -> None:
    assert park(store, org, database, timedelta(hours=1), grows=True) == 1
    assert database.execute("select count(*) from closed_gates").fetchone() == (1,)
    pass_time(database, timedelta(hours=1, seconds=5))
    let_out(store)
    assert database.execute("select count(*) from gates").fetchone() == (1,)
    assert database.execute("select count(*) from closed_gates").fetchone() == (0,)


@pytest.mark.parametrize("how", ["opened", "forgotten"])
def test_a_cause_that_was_mended_is_forgotten(store: Database, org: UUID, database: Connection, how: str) -> None:
    hour = timedelta(hours=1)
    assert park(store, org, database, hour, grows=True) == 1
    if how == "opened":
        with store.ledger() as tx:
            gates.open_gate(tx, "provider", "anthropic", Cause.SLOW_DOWN)
    else:
        pass_time(database, 2 * hour + timedelta(seconds=5))
    let_out(store)
    assert park(store, org, database, hour, grows=True) == 1
