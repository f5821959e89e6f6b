"""However a job ends, its type's hook is called once, in the transaction that ends the job, with the facts."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.failures import Failure, Forbidden, Invalid, Permanent, Transient
from domain.jobs.job import Cancel, ClaimedJob, Done, Origin, Outcome, Snooze
from domain.jobs.lifecycle import MAX_LOSSES, Settlement, lose, settlement_of
from domain.jobs.retry import STANDARD
from storage.jobs import ledger, recovery
from storage.postgres.database import Database
from tests.doubles.end_hooks import hook_calls, make_hook
from tests.doubles.factories import LEASE, claim_one, enqueue_one, make_job_type, make_org, make_worker, pass_time
from tests.invariants import find_gaps

NOW = datetime.now(UTC)
DEADLINE = timedelta(seconds=30)
ADA = Origin(actor_id="ada")


class Ending:
    """What a way to end a job needs: the database by both roads, and the job's org."""

    def __init__(self, store: Database, database: Connection, org: UUID) -> None:
        """Nothing is enqueued yet."""
        self.store, self.database, self.org = store, database, org

    def enqueue(self) -> UUID:
        """A queued job of the type with the hook."""
        return enqueue_one(self.store, self.org, "probe.hooked")

    def enqueue_with_one_attempt(self) -> UUID:
        """The same, and its first attempt is its last."""
        job_id = self.enqueue()
        self.database.execute("update jobs set max_attempts = 1 where id = %s", (job_id,))
        return job_id

    def held(self) -> ClaimedJob:
        """A running job."""
        return claim_one(self.store, self.enqueue())

    def settle(self, job: ClaimedJob, outcome: Outcome | Failure) -> UUID:
        """A worker writes what became of an attempt."""
        self.write(settlement_of(job, outcome, STANDARD, NOW, 0.0))
        return job.job_id

    def write(self, settlement: Settlement) -> None:
        """A worker writes a settlement, alone in its statement."""
        with self.store.statements() as tx:
            assert not ledger.settle(tx, [settlement]).refused

    def rescue(self, job: ClaimedJob, after: timedelta) -> UUID:
        """The relay finds the claim when time has passed."""
        pass_time(self.database, after)
        with self.store.ledger() as tx:
            assert recovery.rescue(tx, batch=10).job_ids == {job.job_id}
        return job.job_id

    def cancel(self, job_id: UUID) -> UUID:
        """An operator asks for a job to be canceled."""
        with self.store.ledger() as tx:
            ledger.cancel(tx, [job_id], "enough", by=ADA)
        return job_id

    def hint(self, job_id: UUID) -> UUID:
        """A worker claims by a hint for a job that it cannot get."""
        with self.store.statements() as tx:
            claims = ledger.claim(tx, [job_id], make_worker(self.store).worker_id, lease=LEASE)
            assert set(claims.refused) == {job_id}
            ledger.end_unclaimed(tx, list(claims.refused))
        return job_id


@pytest.fixture
def ending(store: Database, database: Connection) -> Ending:
    make_hook(database, "end_hook")
    make_job_type(store, "probe.hooked", on_end="end_hook", deadline=DEADLINE)
    make_job_type(store, "deadletter.quarantine", queue="deadletter")
    return Ending(store, database, make_org(database))


def success_by_worker(given: Ending) -> UUID:
    return given.settle(given.held(), Done({"n": 1}))


def success_in_sql(given: Ending) -> UUID:
    job = given.held()
    with given.store.claimed(given.org, job.job_id, job.token) as tx:
        ledger.settle_held(tx, job, {"n": 1}, 0, began_at=NOW)
    return job.job_id


def failure_by_worker(given: Ending) -> UUID:
    return given.settle(given.held(), Permanent("no use"))


def death_by_worker(given: Ending) -> UUID:
    return given.settle(given.held(), Invalid("field", "reason"))


def last_attempt_by_worker(given: Ending) -> UUID:
    return given.settle(claim_one(given.store, given.enqueue_with_one_attempt()), Transient("again"))


def cancel_of_running_by_worker(given: Ending) -> UUID:
    job = given.held()
    given.cancel(job.job_id)
    return given.settle(job, Cancel("enough"))


def poison_by_worker(given: Ending) -> UUID:
    job = given.held()._replace(losses=MAX_LOSSES - 1)
    given.write(lose(job, guilty=True))
    return job.job_id


def poison_by_relay(given: Ending) -> UUID:
    job = given.held()
    given.database.execute(
        "update jobs set losses = %s, suspect = true, deadline = '1 hour' where id = %s",
        (MAX_LOSSES - 1, job.job_id),
    )
    return given.rescue(job, LEASE * 2)


def deadline_by_relay(given: Ending) -> UUID:
    worker = make_worker(given.store)
    job = claim_one(given.store, given.enqueue_with_one_attempt(), worker)
    pass_time(given.database, LEASE * 2)
    with given.store.ledger() as tx:
        ledger.renew_lease(tx, worker, LEASE)
    return given.rescue(job, timedelta(0))


def cancel_of_running_by_relay(given: Ending) -> UUID:
    job = given.held()
    given.cancel(job.job_id)
    return given.rescue(job, LEASE * 2)


def cancel_of_queued_in_sql(given: Ending) -> UUID:
    return given.cancel(given.enqueue())


def cancel_of_queued_at_the_claim(given: Ending) -> UUID:
    job = given.held()
    given.cancel(job.job_id)
    given.write(Settlement.unstarted(job, "shutdown"))
    return given.hint(job.job_id)


def expiry_at_the_claim(given: Ending) -> UUID:
    job_id = enqueue_one(given.store, given.org, "probe.hooked", expires_at=NOW + timedelta(minutes=1))
    pass_time(given.database, timedelta(minutes=2))
    return given.hint(job_id)


ENDINGS: list[tuple[Callable[[Ending], UUID], str, str | None, str | None]] = [
    (success_by_worker, "succeeded", None, None),
    (success_in_sql, "succeeded", None, None),
    (failure_by_worker, "failed", "no use", "permanent"),
    (death_by_worker, "dead", "field: reason", "invalid"),
    (last_attempt_by_worker, "dead", "again", "transient"),
    (cancel_of_running_by_worker, "canceled", "enough", None),
    (poison_by_worker, "dead", "the worker process was lost", "poison"),
    (poison_by_relay, "dead", "the worker process was lost", "poison"),
    (deadline_by_relay, "dead", "the attempt outran its deadline", "deadline"),
    (cancel_of_running_by_relay, "canceled", "enough", None),
    (cancel_of_queued_in_sql, "canceled", "enough", None),
    (cancel_of_queued_at_the_claim, "canceled", "enough", None),
    (expiry_at_the_claim, "canceled", "expired", None),
]
"""Each way to end a job, by each of those who can; and the state, reason and error code that the hook gets."""


@pytest.mark.parametrize(("end", "state", "reason", "code"), ENDINGS, ids=lambda given: getattr(given, "__name__", ""))
def test_the_hook_is_told_once_of_every_end(
    ending: Ending, end: Callable[[Ending], UUID], state: str, reason: str | None, code: str | None
) -> None:
    job_id = end(ending)
    row = ending.database.execute(
        "select state, attempt, finished_at, output from jobs where id = %s", (job_id,)
    ).fetchone()
    assert row is not None
    ((org_id, facts),) = hook_calls(ending.database)
    assert org_id == ending.org
    assert datetime.fromisoformat(facts.pop("finished_at")) == row[2]
    assert (row[0], facts) == (
        state,
        {
            "job_id": str(job_id),
            "org_id": str(ending.org),
            "job_type": "probe.hooked",
            "state": state,
            "reason": reason,
            "error_code": code,
            "output": row[3],
            "attempt": row[1],
        },
    )
    assert find_gaps(ending.database) == []


@pytest.mark.parametrize(
    "outcome", [Snooze(NOW + timedelta(hours=1), "later"), Transient("again")], ids=["snooze", "retry"]
)
def test_a_job_that_goes_on_tells_nothing(ending: Ending, outcome: Outcome | Failure) -> None:
    ending.settle(ending.held(), outcome)
    ending.cancel(ending.held().job_id)
    worker, job_id = make_worker(ending.store), ending.enqueue()
    claim_one(ending.store, job_id, worker)
    with ending.store.ledger() as tx:
        assert recovery.return_claims(tx, worker.node_id, LEASE).job_ids == {job_id}
    assert hook_calls(ending.database) == []


def test_a_settlement_that_is_refused_tells_nothing(ending: Ending) -> None:
    job = ending.held()
    ending.settle(job, Done())
    with ending.store.statements() as tx:
        assert ledger.settle(tx, [settlement_of(job, Done(), STANDARD, NOW, 0.0)]).refused
    assert len(hook_calls(ending.database)) == 1


def test_what_a_hook_wrote_goes_with_a_transaction_that_is_rolled_back(ending: Ending) -> None:
    job = ending.held()
    with pytest.raises(RuntimeError), ending.store.ledger() as tx:
        ledger.settle(tx, [settlement_of(job, Done(), STANDARD, NOW, 0.0)])
        raise RuntimeError
    assert hook_calls(ending.database) == []


def test_jobs_of_several_orgs_are_told_each_as_its_own(ending: Ending, database: Connection) -> None:
    jobs = [ending.held(), claim_one(ending.store, enqueue_one(ending.store, make_org(database), "probe.hooked"))]
    with ending.store.statements() as tx:
        assert not ledger.settle(tx, [settlement_of(job, Done(), STANDARD, NOW, 0.0) for job in jobs]).refused
        # What the hooks ran as does not stay on the connection.
        assert tx.raw("select postroom.current_org() as org")[0].org is None
    assert [org for org, _ in hook_calls(database)] == [job.org_id for job in jobs]


def test_a_hook_that_hears_no_success_hears_of_all_other_ends(ending: Ending, database: Connection) -> None:
    make_job_type(ending.store, "probe.quiet", on_end="end_hook", hears_success=False)
    ends: list[Outcome | Failure] = [Done(), Permanent("no use"), Invalid("field", "reason")]
    jobs = [claim_one(ending.store, enqueue_one(ending.store, ending.org, "probe.quiet")) for _ in ends]
    for job, end in zip(jobs, ends, strict=True):
        ending.settle(job, end)
    heard = database.execute("select facts ->> 'job_id' from hook_calls order by 1").fetchall()
    assert heard == [(str(job.job_id),) for job in jobs[1:]]


def test_a_hook_may_enqueue_for_its_org(ending: Ending, database: Connection) -> None:
    make_hook(database, "follow", "perform postroom.enqueue('probe.hooked', (facts ->> 'org_id')::uuid);")
    make_job_type(ending.store, "probe.followed", on_end="follow")
    job = claim_one(ending.store, enqueue_one(ending.store, ending.org, "probe.followed"))
    ending.settle(job, Done())
    rows = database.execute("select org_id from jobs where job_type = 'probe.hooked'").fetchall()
    assert rows == [(ending.org,)]


@pytest.mark.parametrize(
    ("body", "sqlstate"),
    [
        ("perform postroom.enqueue('probe.hooked', '00000000-0000-7000-8000-000000000000'::uuid);", "42501"),
        ("insert into hook_calls (org_id, hook, facts) values (uuidv7(), 'x', facts);", "42501"),
        ("perform secret from tenant_seal;", "42501"),
        ("update jobs set progress = '{}';", "42501"),
        ("perform set_config('postroom.org', uuidv7()::text, true), postroom.current_org();", "42501"),
        ("set role postroom_ledger;", "42501"),
    ],
    ids=["enqueue", "insert", "seal", "jobs", "org", "role"],
)
def test_a_hook_reaches_no_further_than_its_org(ending: Ending, database: Connection, body: str, sqlstate: str) -> None:
    make_job_type(ending.store, "maintenance.run_end_hook", queue="maintenance")
    make_hook(database, "reach", body)
    make_job_type(ending.store, "probe.reaches", on_end="reach")
    job = claim_one(ending.store, enqueue_one(ending.store, ending.org, "probe.reaches"))
    ending.settle(job, Done())
    data = database.execute("select data ->> 'sqlstate' from audit_log where event = 'job.hook_failed'").fetchall()
    assert data == [(sqlstate,)]


def test_a_hook_sees_no_rows_of_another_org(ending: Ending, database: Connection) -> None:
    ending.settle(claim_one(ending.store, enqueue_one(ending.store, make_org(database), "probe.hooked")), Done())
    count = (
        "insert into hook_calls (org_id, hook, facts) select postroom.current_org(), 'x', to_jsonb(count(*)) from jobs;"
    )
    make_hook(database, "look", count)
    make_job_type(ending.store, "probe.looks", on_end="look")
    ending.settle(claim_one(ending.store, enqueue_one(ending.store, ending.org, "probe.looks")), Done())
    assert database.execute("select facts from hook_calls where hook = 'x'").fetchall() == [(1,)]


def test_the_role_of_hooks_cannot_log_in_and_owns_nothing_but_hooks(ending: Ending, database: Connection) -> None:
    row = database.execute(
        "select rolcanlogin, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb,"
        " has_schema_privilege(oid, 'postroom', 'create'), has_schema_privilege(oid, 'public', 'create'),"
        " exists (select from pg_class where relowner = r.oid) from pg_roles r where rolname = 'postroom_hooks'"
    ).fetchone()
    assert row == (False,) * 8, ending.org


def test_nobody_else_may_call_a_hook(ending: Ending) -> None:
    with pytest.raises(Forbidden), ending.store.tenant(ending.org) as tx:
        tx.raw("select postroom.end_hook('{}')")
    with pytest.raises(Forbidden), ending.store.ledger() as tx:
        tx.raw("select postroom.end_hook('{}')")


PLAIN = "create function postroom.odd(facts jsonb) returns"
ODD = {
    "missing": ("select 1", "there is no such function"),
    "other parameters": (
        "create function postroom.odd(facts jsonb, more text) returns void language sql as ''",
        "there is no such function",
    ),
    "an answer": (f"{PLAIN} jsonb language sql as 'select facts'", "it does not return void"),
    "not adopted": (f"{PLAIN} void language sql security definer as ''", "it was not adopted by"),
    "settings": (
        (
            f"{PLAIN} void language sql as ''; call postroom.adopt_end_hook('postroom.odd(jsonb)');"
            " alter function postroom.odd set lock_timeout = 0"
        ),
        "it has settings of its own",
    ),
    "unstoppable": (
        (
            f"{PLAIN} void language plpgsql as 'begin exception when query_canceled then end';"
            " call postroom.adopt_end_hook('postroom.odd(jsonb)')"
        ),
        "it catches query_canceled",
    ),
}


@pytest.mark.parametrize("odd", ODD)
def test_a_catalogue_that_names_no_true_hook_is_refused(store: Database, database: Connection, odd: str) -> None:
    create, reason = ODD[odd]
    database.execute(create.encode())
    with pytest.raises(Invalid, match=reason) as refused:
        make_job_type(store, on_end="odd")
    assert (refused.value.field, str(refused.value).count("postroom.odd(jsonb)")) == ("on_end", 1)
