"""When a worker is alive and does nothing, and when it must end so that its supervisor starts another; pure."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

LOOP_STANDS_STILL = "loop_stands_still"
"""The symptom of which a worker's main thread cannot end it."""

TURN_LATE_S = 15.0
"""After so long without progress of the ledger loop a worker says so, and renews its lease no more. The loop's longest
round trip, a statement whose answer never comes, is given up after 13 s."""

TURN_LIMIT_S = 27.0
"""After so long it ends. Two of the longest round trips in a row take less, and promise P11 allows 30 s."""

BROKER_LATE_S = 25.0
"""After so long without the answer that it waits for, a broker is reported. Its connection is given up after 20 s."""

STOP_MARGIN_S = 15.0
"""How much longer than the grace a stopping worker may take to give back its claims. Then it ends as it is."""

CLAIM_SHARE = 4
"""No claim with less than this part of the lease left: the rescue takes such claims away while their jobs begin."""


class WorkerCondition(NamedTuple):
    """What shows whether a worker command does its work."""

    turn_age_s: float
    """Since the ledger loop made progress."""
    slots: int
    overdue_slots: int
    """Slots whose job is long past its deadline: the claim is lost, and a thread cannot be ended."""
    lease_left_s: float
    broker_age_s: float
    """Since the broker owes an answer; 0 when it owes none."""
    database_away: bool = False


class Symptom(NamedTuple):
    """What is wrong with a worker, and whether it must end."""

    name: str
    reason: str
    ends: bool = False


def most_overdue(slots: int) -> int:
    """So many slots with lost attempts, half of them, and the worker must end: the rest would carry twice the load."""
    return max(1, (slots + 1) // 2)


def symptoms(condition: WorkerCondition) -> Sequence[Symptom]:
    """All that is wrong, the worst first."""
    age_s, overdue = condition.turn_age_s, condition.overdue_slots
    found = []
    if age_s > TURN_LATE_S:
        reason = f"the ledger loop has made no progress for {age_s:.0f} s"
        found.append(Symptom(LOOP_STANDS_STILL, reason, ends=age_s > TURN_LIMIT_S))
    if overdue:
        reason = f"{overdue} of {condition.slots} slots are held by jobs that are past their deadlines"
        found.append(Symptom("slots_overdue", reason, ends=overdue >= most_overdue(condition.slots)))
    if condition.lease_left_s <= 0:
        found.append(Symptom("lease_over", "the lease has run out; other workers take the jobs"))
    if condition.broker_age_s > BROKER_LATE_S:
        found.append(Symptom("broker_silent", f"the broker has owed an answer for {condition.broker_age_s:.0f} s"))
    if condition.database_away:
        found.append(Symptom("database_away", "PostgreSQL cannot be reached"))
    return sorted(found, key=lambda symptom: not symptom.ends)


def may_claim(lease_left: timedelta, lease: timedelta) -> bool:
    """Whether enough of a lease is left to claim under it."""
    return lease_left * CLAIM_SHARE > lease


def may_renew(turn_age_s: float) -> bool:
    """Whether a worker may renew its lease: if its loop stands still, its jobs must go to other workers."""
    return turn_age_s <= TURN_LATE_S
