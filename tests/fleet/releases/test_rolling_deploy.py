"""Workers of two releases share a backlog while one replaces the other: nothing is lost, nothing happens twice."""

import os
from collections import Counter
from pathlib import Path
from uuid import UUID

from domain.jobs.job import NewJob
from engine.worker.worker import RELEASE
from tests.doubles.probe_jobs import Chatty, Parent, Perilous, Turn, Visit
from tests.fleet.fleet import QUIET_OPTIONS, Fleet, wait_until_ready
from tests.fleet.releases import earlier_release, newer_jobs
from tests.fleet.releases.newer_jobs import Added
from tests.invariants import check_calls
from tests.waiting import eventually

EACH, ACCOUNTS, TURNS = 50, 2, 2
STAGES = 3
"""The backlog grows before the deploy, and beside each of two workers that are replaced."""
END_WITHIN_S = 180.0
"""A job of a type that the earlier release lacks goes back for half a minute each time; in seconds."""
COMMIT = os.environ.get("POSTROOM_TEST_EARLIER_COMMIT")
"""An earlier commit, whose code runs in the place of the last tag's."""


def mixed(org: UUID, stage: int) -> list[NewJob]:
    """Jobs with effects, with steps, with children, one at a time per account, and slow ones."""
    payloads = [
        payload
        for number in range(stage * EACH, (stage + 1) * EACH)
        for payload in (
            Perilous(key=f"effect-{number}"),
            Chatty(word=f"{number}"),
            Parent(),
            *[Turn(account_id=f"{number % ACCOUNTS}")] * TURNS,
            Visit(then="step", account_id=f"{number}"),
        )
    ]
    return [payload.job(org_id=org) for payload in payloads]


def inside_at_once(lines: list[list[str]]) -> int:
    """How many jobs of one account were under way at the same time, at most."""
    inside: Counter[str] = Counter()
    most = 0
    for word, account, _ in lines:
        inside[account] += 1 if word == "enters" else -1
        most = max(most, inside[account])
    return most


def test_two_releases_work_off_one_backlog(fleet: Fleet, tmp_path: Path) -> None:
    tree = earlier_release.unpack(tmp_path / "earlier", COMMIT)
    earlier = [earlier_release.start_worker(tree, fleet.environment, name) for name in ("first", "second")]
    added = fleet.enqueue(Added())
    eventually(lambda: "unknown type" in fleet.causes(added), within=END_WITHIN_S, describe="a worker that lacks it")
    job_ids = fleet.enqueue_many(mixed(fleet.org, 0))
    eventually(lambda: fleet.outside.lines("call"), within=END_WITHIN_S, describe="the first effect")
    options = (*QUIET_OPTIONS, "--include", newer_jobs.__name__)
    assert {row[0] for row in fleet.ask("select version from workers")} == {earlier_release.RELEASE}
    newer = []
    for number, worker in enumerate(earlier, start=1):
        newer.append(fleet.worker(f"newer-{number}", options=options))
        wait_until_ready(newer[-1])
        job_ids += fleet.enqueue_many(mixed(fleet.org, number))
        assert worker.stop(within=90) == 0, worker.read_log()[-2000:]
    assert fleet.wait_for_end([*job_ids, added], within=END_WITHIN_S) == {"succeeded": len(job_ids) + 1}
    check_calls([line[1] for line in fleet.outside.lines("call")])
    assert len(fleet.outside.lines("call")) == STAGES * EACH
    lines = [line for line in fleet.outside.lines() if line[0] in {"enters", "leaves"}]
    assert len(lines) == 2 * TURNS * STAGES * EACH
    assert inside_at_once(lines) == 1
    assert fleet.ask("select output, attempt from jobs where id = %s", added) == [({"release": RELEASE}, 1)]
    visited_in = {int(line[3]) for line in fleet.outside.lines("began")}
    assert visited_in & {worker.pid for worker in earlier}, "the earlier release ran none of the jobs"
    assert visited_in & {worker.pid for worker in newer}, "the newer release ran none of the jobs"
    fleet.check()
