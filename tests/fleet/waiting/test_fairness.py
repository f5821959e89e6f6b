"""Real workers under a flood: other tenants' jobs and urgent ones overtake it (P7). Tests look at order, not time."""

from uuid import UUID

import psycopg

from domain.jobs.job import Origin
from storage.jobs import ledger
from tests.doubles import probe_jobs
from tests.doubles.factories import make_org
from tests.doubles.probe_jobs import Noop, Turn
from tests.doubles.probes import bearing_jobs
from tests.fleet.fleet import END_WITHIN_S, QUIET_OPTIONS, Fleet
from tests.waiting import eventually

FLOOD = 3000
OVERTAKEN = 500
"""How many jobs of a flood may begin before a later job that may overtake them: the window that two
slots get, a burst, and the jobs that the worker had claimed. A first-in-first-out queue would run nearly all of them
first. The window is a time: each job of the flood takes some, or as many as fit would be a matter of the machine."""


def another_org(fleet: Fleet) -> UUID:
    with psycopg.connect(fleet.database_url, autocommit=True) as owner:
        return make_org(owner, "another org")


def flood(fleet: Fleet) -> None:
    """Fill the queue by one tenant, and wait until the worker runs its jobs."""
    fleet.enqueue_many([Turn(account_id=str(number)).job(org_id=fleet.org) for number in range(FLOOD)])
    eventually(lambda: started(fleet) >= 40, within=END_WITHIN_S, describe="the flood to be worked at")


def started(fleet: Fleet) -> int:
    return int(fleet.ask("select count(*) from audit_log where event = 'job.started'")[0][0])


def overtaken_by(fleet: Fleet, job_id: UUID) -> int:
    """How many other jobs began between the enqueueing of this one and its beginning."""
    query = (
        "select count(*) from audit_log where event = 'job.started' and job_id <> %s"
        " and id > (select id from audit_log where job_id = %s and event = 'job.enqueued')"
        " and id < (select id from audit_log where job_id = %s and event = 'job.started')"
    )
    return int(fleet.ask(query, job_id, job_id, job_id)[0][0])


def end_the_flood(fleet: Fleet) -> None:
    """Cancel the rest of the flood; canceling in the backlog must work too."""
    rest = [row[0] for row in fleet.ask("select id from jobs where state = 'queued'")]
    with fleet.client.database.ledger() as tx:
        ledger.cancel(tx, rest, "the test has seen enough", by=Origin())
    assert len(rest) > FLOOD / 4, "the flood was over before it could be overtaken"
    fleet.check()


def test_a_tenants_flood_delays_another_tenants_job_by_a_window_only(fleet: Fleet) -> None:
    fleet.worker().ready()
    other = another_org(fleet)
    flood(fleet)
    waiting = int(fleet.ask("select count(*) from jobs where backlog_since is not null")[0][0])
    assert waiting > FLOOD / 2, "the backlog lives in the ledger, not in the broker"
    [alone] = fleet.enqueue_many([Noop().job(org_id=other)])
    assert fleet.wait_for_end([alone]) == {"succeeded": 1}
    assert overtaken_by(fleet, alone) <= OVERTAKEN
    # A tenant with a small backlog of its own takes turns with the flood.
    several = fleet.enqueue_many([Noop().job(org_id=other) for _ in range(40)])
    assert fleet.wait_for_end(several) == {"succeeded": 40}
    assert max(overtaken_by(fleet, job_id) for job_id in several) <= OVERTAKEN
    end_the_flood(fleet)


def test_an_org_that_floods_with_children_delays_another_orgs_job_by_a_window_only(fleet: Fleet) -> None:
    """What is born claimed takes slots that nobody waits for, and none of the others."""
    included = f"{probe_jobs.__name__},{bearing_jobs.__name__}"
    fleet.worker(options=(*QUIET_OPTIONS[:-1], included)).ready()
    other = another_org(fleet)
    fleet.enqueue_many([bearing_jobs.Branching(generations=7).job(org_id=fleet.org)])
    eventually(lambda: started(fleet) >= 300, within=END_WITHIN_S, describe="the flood to be worked at")
    for _ in range(5):
        [alone] = fleet.enqueue_many([Noop().job(org_id=other)])
        assert fleet.wait_for_end([alone]) == {"succeeded": 1}
        assert overtaken_by(fleet, alone) <= OVERTAKEN
    assert fleet.ask("select count(*) from jobs where finished_at is null")[0][0], "the flood was over"
    # Whoever still runs enqueues children that nobody has canceled.
    eventually(lambda: not cancel_waiting(fleet), within=END_WITHIN_S, describe="the flood to end")
    fleet.check()


def cancel_waiting(fleet: Fleet) -> int:
    """Cancel what waits; returns how many jobs were not over."""
    rest = [row[0] for row in fleet.ask("select id from jobs where finished_at is null")]
    with fleet.client.database.ledger() as tx:
        ledger.cancel(tx, rest, "the test has seen enough", by=Origin())
    return len(rest)


def test_the_higher_priority_overtakes_a_backlog_of_the_same_tenant(fleet: Fleet) -> None:
    fleet.worker().ready()
    flood(fleet)
    urgent = fleet.enqueue_many([Noop().job(org_id=fleet.org, priority=50) for _ in range(10)])
    assert fleet.wait_for_end(urgent) == {"succeeded": 10}
    assert max(overtaken_by(fleet, job_id) for job_id in urgent) <= OVERTAKEN
    end_the_flood(fleet)
