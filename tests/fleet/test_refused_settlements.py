"""A settlement that PostgreSQL refuses: its job becomes a dead letter with field and reason, the others end."""

import pytest

from engine.catalogue import Job
from tests.doubles.probe_jobs import Noop, Nothing, abysmal, rambling
from tests.fleet.fleet import Fleet

REFUSED = {
    rambling: "cancel_reason: breaks the ledger's rule jobs_cancel_reason_check",
    abysmal: "output: nests more than 64 levels deep",
}


@pytest.mark.parametrize("pool", ["threads", "prefork"])
@pytest.mark.parametrize("job_type", REFUSED, ids=["rambling", "abysmal"])
def test_one_job_whose_settlement_is_refused_holds_up_no_other(fleet: Fleet, pool: str, job_type: Job[Nothing]) -> None:
    worker = fleet.worker(pool=pool)
    others = [Noop().job(org_id=fleet.org) for _ in range(40)]
    (refused,) = fleet.enqueue_many([job_type.payload().job(org_id=fleet.org)])
    job_ids = fleet.enqueue_many(others)
    worker.ready()
    assert fleet.wait_for_end([refused, *job_ids]) == {"succeeded": 40, "dead": 1}
    query = "select error ->> 'code', error ->> 'reason' from jobs where id = %s"
    assert fleet.ask(query, refused) == [("invalid", REFUSED[job_type])]
    fleet.check()
