"""A run hears of the end of its nodes' jobs in the transaction that ends them, once, and holds up nobody."""

from collections.abc import Sequence
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection

from domain.jobs.failures import Invalid
from domain.jobs.job import ClaimedJob, Done
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from storage.jobs import ledger
from storage.jobs.answers import Settled
from storage.postgres.database import Transaction
from tests.doubles.inline_worker import claim_job
from tests.workflows.workflow_runs import Workflows

THREE = "name: three\nnodes:\n" + "".join(f"  n{n}: {{job: workflow_jobs.echo}}\n" for n in range(3))


def held(flows: Workflows) -> list[ClaimedJob]:
    """The jobs of the three nodes of a new run, at work."""
    flows.save(THREE)
    flows.start("three")
    flows.drain("workflows.%")
    return [claim_job(flows.process, job_id) for job_id in flows.queued("workflow_jobs.%")]


def settle(tx: Transaction, flows: Workflows, jobs: Sequence[ClaimedJob]) -> Settled:
    """Write the success of jobs in one statement."""
    now = flows.process.clock()
    settled = ledger.settle(tx, [settlement_of(job, Done({"n": 1}), STANDARD, now, 0.0) for job in jobs])
    assert not settled.refused
    return settled


def ended(database: Connection, jobs: Sequence[ClaimedJob]) -> list[str]:
    """The states of the nodes of these jobs."""
    rows = database.execute(
        "select state from workflow_nodes where job_id = any (%s)", ([job.job_id for job in jobs],)
    ).fetchall()
    return [row[0] for row in rows]


def advances(database: Connection) -> list[UUID]:
    """Advances that wait."""
    rows = database.execute("select id from jobs where job_type = 'workflows.advance' and state = 'queued'").fetchall()
    return [row[0] for row in rows]


def test_the_ends_of_a_statement_make_one_advance_for_each_run(flows: Workflows, others: Workflows) -> None:
    mine, theirs = held(flows), held(others)
    with flows.process.database.statements() as tx:
        settled = settle(tx, flows, [*mine, *theirs])
    assert ended(flows.database, [*mine, *theirs]) == ["succeeded"] * 6
    waiting = advances(flows.database)
    assert len(waiting) == 2
    assert {hint.job_id for hint in settled.hints} == set(waiting), "their hints go out with the settlement"
    assert flows.database.execute("select count(*) from job_waiters").fetchone() == (0,)
    origins = flows.database.execute(
        "select distinct j.actor_id = r.actor_id and j.correlation_id = r.correlation_id from jobs j"
        " join workflow_runs r on r.id = (j.payload ->> 'run_id')::uuid where j.state = 'queued'"
    ).fetchall()
    assert origins == [(True,)], "in the name of the run"


def test_the_end_of_a_job_without_a_parent_looks_at_no_waiter(flows: Workflows) -> None:
    held(flows)
    plain = claim_job(flows.process, flows.enqueue(flows.payload("workflow_jobs.echo")))
    flows.database.execute("drop table job_waiters cascade")
    with flows.process.database.statements() as tx:
        settle(tx, flows, [plain])


def test_an_advance_of_an_org_over_its_burst_goes_on_in_the_turn_of_the_ended_job(flows: Workflows) -> None:
    mine = held(flows)
    flows.database.execute("insert into orgs_over_burst (queue, org_id) values ('default', %s)", (flows.org,))
    with flows.process.database.statements() as tx:
        settled = settle(tx, flows, mine)
    (advance,) = advances(flows.database)
    assert [hint.job_id for hint in settled.hints] == [advance]
    assert flows.run_job(advance) == "succeeded"


def test_ends_do_not_wait_for_each_other_and_each_hints_at_the_advance(flows: Workflows) -> None:
    first, second, third = held(flows)
    with flows.process.database.statements() as tx:
        settle(tx, flows, [first])
    (advance,) = advances(flows.database)
    with flows.process.database.ledger() as one, flows.process.database.ledger() as other:
        hints = [settle(one, flows, [second]).hints, settle(other, flows, [third]).hints]
        assert [[hint.job_id for hint in some] for some in hints] == [[advance], [advance]]
        # Nobody claims the advance before it can see both; who tries is told to come again.
        with flows.process.database.statements() as tx:
            claims = ledger.claim(tx, [advance], flows.process.worker.worker_id, lease=flows.process.lease.length)
        assert claims.refused == {advance: "locked"}
    assert advances(flows.database) == [advance]
    flows.drain()
    assert flows.database.execute("select state from workflow_runs").fetchall() == [("succeeded",)]


def test_ends_during_an_advance_make_another_one(flows: Workflows) -> None:
    first, second, _ = held(flows)
    with flows.process.database.statements() as tx:
        settle(tx, flows, [first])
    (advance,) = advances(flows.database)
    claim_job(flows.process, advance)
    with flows.process.database.statements() as tx:
        settle(tx, flows, [second])
    assert len(advances(flows.database)) == 1


def test_a_hook_that_must_wait_is_called_later_with_all_that_it_missed(flows: Workflows, database_url: str) -> None:
    jobs = held(flows)
    with psycopg.connect(database_url) as rival:
        rival.execute("select from workflow_nodes for update")
        with flows.process.database.statements() as tx:
            settle(tx, flows, jobs[:2])
            settle(tx, flows, jobs[2:])
    assert ended(flows.database, jobs) == ["running"] * 3
    failed = flows.database.execute("select data ->> 'cause' from audit_log where event = 'job.hook_failed'").fetchall()
    assert failed == [("waited",)], "the second was deferred without being tried"
    flows.database.execute("delete from jobs where job_type = 'workflow_jobs.echo'")  # which retention does later
    assert flows.drain("maintenance.run_end_hook") == 2
    assert ended(flows.database, jobs) == ["succeeded"] * 3
    flows.drain()
    assert flows.database.execute("select state from workflow_runs").fetchall() == [("succeeded",)]


def test_a_waiter_of_another_org_hears_nothing(flows: Workflows, others: Workflows) -> None:
    jobs = held(flows)
    with others.process.database.tenant(others.org) as tx:
        tx.raw(
            "insert into job_waiters (job_id, org_id, hook) values (%(job)s, %(org)s, 'workflow_nodes_ended')",
            {"job": jobs[0].job_id, "org": others.org},
        )
    with flows.process.database.statements() as tx:
        settle(tx, flows, jobs)
    assert flows.database.execute("select org_id, facts from job_waiters").fetchall() == [(others.org, None)]


def test_a_hook_that_no_migration_knows_cannot_be_named(flows: Workflows) -> None:
    name = "insert into job_waiters (job_id, org_id, hook) values (uuidv7(), %(org)s, 'seal_of')"
    with pytest.raises(Invalid, match="hook: "), flows.process.database.tenant(flows.org) as tx:
        tx.raw(name, {"org": flows.org})
