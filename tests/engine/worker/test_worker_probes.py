"""What makes a worker unhealthy."""

from datetime import timedelta
from threading import Thread

import pytest

from engine.runtime import Lease
from engine.worker.probes import (
    LONGEST_OUTAGE_S,
    LONGEST_TURN_S,
    WorkerAges,
    broker_finding,
    counter_finding,
    lease_finding,
    ledger_finding,
    turn_finding,
)


@pytest.mark.parametrize(
    ("ages", "healthy"),
    [
        (WorkerAges(0, 0, 0), (True, True, True)),
        (WorkerAges(LONGEST_TURN_S, 0, 0), (False, True, True)),
        (WorkerAges(1, LONGEST_OUTAGE_S, 0), (True, False, True)),
        (WorkerAges(1, 1, LONGEST_OUTAGE_S), (True, True, False)),
        (WorkerAges(LONGEST_TURN_S - 1, LONGEST_OUTAGE_S - 1, LONGEST_OUTAGE_S - 1), (True, True, True)),
    ],
)
def test_each_age_has_its_bound(ages: WorkerAges, healthy: tuple[bool, bool, bool]) -> None:
    assert (turn_finding(ages).ok, ledger_finding(ages).ok, broker_finding(ages).ok) == healthy


def test_a_worker_without_its_lease_is_not_healthy() -> None:
    lease = Lease(timedelta(seconds=60))
    assert lease_finding(lease).ok
    lease.renewed_at = lease.renewed_at - 61
    assert not lease_finding(lease).ok


def test_a_worker_whose_counter_has_ended_is_not_healthy() -> None:
    ended = Thread(target=lambda: None)
    ended.start()
    ended.join()
    assert not counter_finding(ended).ok
