"""Jobs that are stopped from outside: a request to cancel, a deadline; and errors that carry secrets."""

from domain.jobs.job import Origin
from storage.jobs import ledger
from tests.doubles.probe_jobs import Ending, Overdue, Stepping
from tests.fleet.fleet import Fleet, refused_settlements
from tests.waiting import eventually

SECRETS = ("abcdefghijklmnop", "ya29.a0AfH6SMBx1234567890", "sk-ant-api03-AAAABBBBCCCC", "hunter2hunter2")


def test_a_running_job_sees_its_cancellation_at_the_next_step(fleet: Fleet) -> None:
    fleet.worker().ready()
    job_id = fleet.enqueue(Stepping(gate="go"))
    fleet.wait_for_line("waits")
    fleet.wait_for_starts([job_id])
    with fleet.client.database.ledger() as tx:
        assert ledger.cancel(tx, [job_id], "no longer wanted", by=Origin(actor_id="operator")) == {job_id: "running"}
    fleet.outside.open_gate("go")
    assert fleet.wait_for_end([job_id]) == {"canceled": 1}
    assert fleet.events(job_id) == ["enqueued", "started", "cancel_requested", "canceled"]
    assert fleet.ask("select cancel_reason from jobs where id = %s", job_id) == [("no longer wanted",)]
    assert [line[1] for line in fleet.outside.lines("step")] == ["first", "second"]
    fleet.check()


def test_an_attempt_past_its_deadline_loses_its_claim_and_ends_dead(fleet: Fleet) -> None:
    worker = fleet.worker(concurrency=4)
    worker.ready()
    job_id = fleet.enqueue(Overdue(gate="late", each_time=True))
    assert fleet.wait_for_end([job_id]) == {"dead": 1}
    assert fleet.causes(job_id) == ["deadline", "deadline"]
    assert fleet.ask("select error ->> 'code' from dead_letters where job_id = %s", job_id) == [("deadline",)]
    fleet.outside.open_gate("late")
    eventually(lambda: refused_settlements(worker.logs()) == 3, within=20, describe="three late attempts")
    fleet.check()


def test_no_secret_of_an_error_is_stored(fleet: Fleet) -> None:
    workers = [fleet.worker("one"), fleet.worker("two", pool="prefork")]
    for worker in workers:
        worker.ready()
    job_ids = [fleet.enqueue(Ending(word="leak")) for _ in range(4)]
    assert fleet.wait_for_end(job_ids) == {"dead": 4}
    fleet.check()
    kept = "".join(worker.logs() for worker in workers)
    for table in ("jobs", "audit_log", "dead_letters", "idempotency_keys", "job_steps", "refused_messages"):
        kept += str(fleet.ask(f"select to_jsonb(t) from {table} t"))
    assert "RuntimeError" in kept
    assert [secret for secret in SECRETS if secret in kept] == []
