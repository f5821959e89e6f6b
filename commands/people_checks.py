"""What `doctor` says of people: what waits for one, and who may sign in to the console."""

from datetime import timedelta

from domain.jobs.gate_causes import Cause
from engine.runtime import Runtime
from storage.jobs import gates
from storage.notifications import alerts
from storage.orgs.access import operators
from storage.postgres.readiness import Check

LETTERS_WITHIN = timedelta(days=365)
"""How far back dead letters are counted: whoever has left one for longer has decided."""


def people_check(process: Runtime) -> Check:
    """What waits for a person; nothing is wrong with the fleet. Alerts tell of job types and hours, not of each."""
    with process.database.ledger() as tx:
        counts = alerts.count_letters(tx, since=process.clock() - LETTERS_WITHIN, window=LETTERS_WITHIN)
        lost = sum(gate.cause is Cause.CONSENT for gate in gates.closed(tx))
    letters = sum(found.count for found in counts)
    if not letters and not lost:
        return Check("people", ok=True, finding="nothing waits for a person")
    more = " or more" if letters >= alerts.MOST_LETTERS else ""
    finding = f"{letters}{more} dead letters (deadletters list) and {lost} mailboxes without consent (accounts list)"
    return Check("people", ok=True, finding=f"{finding} wait for a person")


def console_check(process: Runtime) -> Check:
    """Whether anybody can sign in to the console; an installation without one is well, too."""
    with process.database.ledger() as tx:
        is_there = operators.is_there_one(tx)
    closed = "no operator, so /console answers 404; the first: celery -A tasks operators add EMAIL --role admin"
    return Check("console", ok=True, finding="operators can sign in" if is_there else closed)
