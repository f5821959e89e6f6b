"""The metrics of a running fleet, scraped over HTTP from each process, agree with its ledger."""

import json
import sys
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping

import pytest
from prometheus_client.parser import text_string_to_metric_families

from domain.jobs.monitoring.metrics import METRICS, MetricSource
from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.free_port import LOOPBACK, find_free_port
from tests.doubles.probe_jobs import Ending, Noop
from tests.fleet.fleet import END_WITHIN_S, Fleet, wait_until_ready
from tests.house.reading import ROOT
from tests.servers.python_processes import spawn_python
from tests.waiting import eventually

Values = dict[tuple[str, str, str, str], float]
"""Values by sample name, job type, queue, and the error class, cause or bucket."""

SEVEN = (
    "jobs_enqueued_total",
    "jobs_started_total",
    "jobs_succeeded_total",
    "jobs_failed_total",
    "jobs_duration_seconds_count",
    "jobs_attempts_histogram_count",
    "deadletter_total",
)


def read(port: int, path: str) -> tuple[int, str]:
    """Status and body; raises `OSError` while nobody listens."""
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}{path}", timeout=END_WITHIN_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def samples(port: int) -> Iterator[tuple[str, Mapping[str, str], float]]:
    status, text = read(port, "/metrics")
    assert status == 200
    for family in text_string_to_metric_families(text):
        yield from ((sample.name, sample.labels, sample.value) for sample in family.samples)


def summed(ports: list[int]) -> Values:
    """The sums over all processes, of what has been counted: a type that is known and never was stands at 0."""
    found: Values = defaultdict(float)
    for port in ports:
        for name, labels, value in samples(port):
            third = labels.get("error_class") or labels.get("cause") or ""
            if name in SEVEN and value:
                found[name, labels["job_type"], labels.get("queue", ""), third] += value
    return found


def in_the_ledger(fleet: Fleet) -> Values:
    """The seven, as the ledger's own rows and its audit log have them."""
    queries = {
        "jobs_enqueued_total": "select job_type, queue, '', count(*) from jobs group by 1, 2",
        "jobs_started_total": "select a.job_type, queue, '', count(*) from audit_log a join jobs j on j.id = a.job_id"
        " where event = 'job.started' group by 1, 2",
        "jobs_succeeded_total": "select job_type, queue, '', count(*) from jobs"
        " where state = 'succeeded' group by 1, 2",
        "jobs_failed_total": "select job_type, queue, error ->> 'code', count(*) from jobs"
        " where state in ('failed', 'dead') group by 1, 2, 3",
        "jobs_duration_seconds_count": "select a.job_type, queue, '', count(*) from audit_log a"
        " join jobs j on j.id = a.job_id where event = 'job.started' group by 1, 2",
        "jobs_attempts_histogram_count": "select job_type, '', '', count(*) from jobs"
        " where state in ('succeeded', 'failed', 'dead') group by 1",
        "deadletter_total": "select job_type, queue, '', count(*) from dead_letters group by 1, 2",
    }
    return {
        (name, job_type, queue, third): float(number)
        for name, query in queries.items()
        for job_type, queue, third, number in fleet.ask(query)
    }


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_the_seven_metrics_agree_with_the_ledger(fleet: Fleet, pool: str) -> None:
    ports = [find_free_port(), find_free_port()]
    workers = [
        fleet.worker(name, pool=pool, POSTROOM_METRICS_PORT=str(port))
        for name, port in zip(("one", "two"), ports, strict=True)
    ]
    wait_until_ready(*workers)
    words = ["", "permanent", "bug", "transient", "cancel"] * 10
    jobs = [Ending(word=word).job(org_id=fleet.org) for word in words]
    jobs += [Noop().job(org_id=fleet.org) for _ in range(200)]
    ids = fleet.enqueue_many(jobs)
    fleet.wait_for_end(ids)
    fleet.check()
    expected = in_the_ledger(fleet)
    assert {name for name, *_ in expected} == set(SEVEN)
    eventually(lambda: summed(ports) == expected, within=END_WITHIN_S, describe="the metrics to agree with the ledger")
    holders = [port for port in ports if any(name == "workers_alive" for name, *_ in samples(port))]
    assert len(holders) == 1
    shown = {name for port in ports for name, *_ in samples(port)}
    expected_names = {metric.name for metric in METRICS if metric.source is MetricSource.PROCESS}
    assert expected_names <= shown
    # The next worker goes on counting where the one that stops was.
    workers[ports.index(holders[0])].stop()
    rest = [port for port in ports if port not in holders]
    fleet.wait_for_end([fleet.enqueue(Noop())])
    after = in_the_ledger(fleet)
    eventually(lambda: summed(rest) == after, within=END_WITHIN_S, describe="the next worker to count on")


def test_a_worker_says_whether_it_is_healthy(fleet: Fleet) -> None:
    port = find_free_port()
    fleet.worker(POSTROOM_METRICS_PORT=str(port)).ready()
    status, text = read(port, "/healthz")
    answer = json.loads(text)
    assert (status, answer["status"]) == (200, "ok")
    assert set(answer["checks"]) == {"event loop", "ledger", "broker", "lease", "counter"}
    assert read(port, "/")[0] == 404


def test_a_worker_whose_port_is_taken_works_without_metrics(fleet: Fleet) -> None:
    port = find_free_port()
    fleet.worker("one", POSTROOM_METRICS_PORT=str(port)).ready()
    second = fleet.worker("two", queues=("exports",), POSTROOM_METRICS_PORT=str(port))
    second.ready()
    second.wait_for_log("metrics_not_served")
    assert read(port, "/healthz")[0] == 200


def test_a_worker_without_a_port_counts_nothing(fleet: Fleet) -> None:
    fleet.worker().ready()
    fleet.wait_for_end([fleet.enqueue(Noop())])
    assert fleet.ask("select counted_to, holder from counting") == [(0, None)]


def test_beat_says_whether_it_is_healthy(fleet: Fleet) -> None:
    port = find_free_port()
    words = [sys.executable, "-m", "celery", "-A", "tests.fleet.ticking_app", "beat", "--pidfile=", "--loglevel=INFO"]
    environment = fleet.environment | {"POSTROOM_METRICS_PORT": str(port)}
    command = Command(words, environment=environment, folder=ROOT)
    beat = ChildProcess(command, log=fleet.outside.folder / "beat.log", spawn=spawn_python)
    beat.start()
    try:
        eventually(lambda: "metrics_served" in beat.read_log(), within=END_WITHIN_S, describe="beat's port")
        status, text = read(port, "/healthz")
    finally:
        beat.stop()
    assert (status, list(json.loads(text)["checks"])) == (200, ["rounds"])
