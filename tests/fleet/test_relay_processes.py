"""The relay of real workers: a new leader follows a dead one, nothing runs early, lost hints are published again."""

from datetime import UTC, datetime, timedelta

import redis

from tests.doubles.probe_jobs import Noop, Turn
from tests.fleet.fleet import Fleet, wait_until_ready


def test_another_worker_leads_when_the_leader_dies(fleet: Fleet) -> None:
    leader = fleet.worker("leader")
    leader.ready()
    leader.wait_for_log("relay_leads")
    second = fleet.worker("second")
    second.ready()
    assert "relay_leads" not in second.logs()
    due = datetime.now(UTC) + timedelta(seconds=2)
    job_ids = fleet.enqueue_many([Noop().job(org_id=fleet.org, run_at=due) for _ in range(20)])
    leader.kill()
    second.wait_for_log("relay_leads", timeout=5)
    assert fleet.wait_for_end(job_ids, within=15) == {"succeeded": 20}
    started = "select min(a.at - j.run_at) from audit_log a join jobs j on j.id = a.job_id where event = 'job.started'"
    assert fleet.ask(started)[0][0] >= timedelta(0)
    fleet.check()


def test_a_lost_hint_is_published_again_after_the_hint_timeout(fleet: Fleet) -> None:
    job_ids = fleet.enqueue_many([Noop().job(org_id=fleet.org) for _ in range(5)])
    with redis.Redis.from_url(fleet.broker_url) as broker:
        assert broker.llen("default") == 1, "one message for five jobs"
        # The broker's epoch is restored, so the relay cannot notice the loss: only the hint timeout helps.
        broker.set("postroom:epoch", "known")
        fleet.ask("insert into broker_epochs (epoch) values ('known')")
        broker.delete("default")
    fleet.worker().ready()
    assert fleet.wait_for_end(job_ids) == {"succeeded": 5}
    waited = (
        "select min(a.at - j.created_at) from audit_log a join jobs j on j.id = a.job_id where a.event = 'job.started'"
    )
    assert fleet.ask(waited)[0][0] >= timedelta(seconds=3)
    fleet.check()


def test_serial_jobs_never_overlap_and_follow_at_once(fleet: Fleet) -> None:
    wait_until_ready(*[fleet.worker(name, concurrency=4) for name in ("one", "two")])
    jobs = [Turn(account_id=account).job(org_id=fleet.org) for account in ["a"] * 20 + ["b"] * 5]
    before = datetime.now(UTC)
    job_ids = fleet.enqueue_many(jobs)
    assert fleet.wait_for_end(job_ids) == {"succeeded": 25}
    # Twenty jobs that each wait for the relay's next look (5 s) would take more than a minute.
    assert datetime.now(UTC) - before < timedelta(seconds=10)
    for account in "ab":
        lines = [line for line in fleet.outside.lines() if line[1] == account]
        assert [line[0] for line in lines] == ["enters", "leaves"] * (len(lines) // 2)
        assert [line[2] for line in lines[::2]] == [line[2] for line in lines[1::2]]
    assert fleet.ask("select count(*) from serial_slots") == [(0,)]
    fleet.check()
