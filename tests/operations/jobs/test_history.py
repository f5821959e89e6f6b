"""The history of jobs as operators and orgs see it: by the minute or the hour, exact, bounded."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from commands.operations import AREAS
from domain.jobs.queues import Queue
from tests.commands.calling import answer, refusal
from tests.doubles.factories import make_org
from tests.gateway.api.conftest import Client
from tests.storage.jobs.audit_log.longer_spans import SPREAD

AT = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=5)
ADD = """
insert into job_minutes (minute, job_type, queue, enqueued, started, retried, succeeded, failed, dead, canceled, lost,
  seconds, histogram, microcents)
values (%s, %s, %s, 3, 2, 1, 2, 1, 1, 0, 0, 2.5,
  array_fill(0, array[5]) || array[1, 1] || array_fill(0, array[10]), 500)
"""
pytestmark = pytest.mark.usefixtures("process")


@pytest.fixture
def counted(database: Connection) -> None:
    for minutes, job_type, queue in (
        (0, "probe_jobs.noop", "default"),
        (7, "probe_jobs.noop", "default"),
        (7, "no.more", "exports"),
        (61, "no.more", "exports"),
    ):
        database.execute(ADD, (AT + timedelta(minutes=minutes), job_type, queue))
    database.execute(SPREAD.encode())


def history(*options: object, until: timedelta = timedelta(hours=2)) -> list[dict[str, object]]:
    found = answer(AREAS.history, "jobs", "--since", AT.isoformat(), "--before", (AT + until).isoformat(), *options)
    return [point for point in found if point["enqueued"]]


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize(
    ("options", "enqueued"),
    [
        ((), [3, 6, 3]),
        (("--step", "10m"), [9, 3]),
        (("--step", "1h"), [9, 3]),
        (("--step", "1d"), [12]),
        (("--job-type", "probe_jobs.noop"), [3, 3]),
        (("--job-type", "no.more", "--job-type", "probe_jobs.noop"), [3, 6, 3]),
        (("--queue", "exports"), [3, 3]),
        (("--queue", "critical"), []),
    ],
)
def test_a_chart_has_a_sum_per_step(options: tuple[str, ...], enqueued: list[int]) -> None:
    points = history(*options)
    if "1d" in options and AT.hour >= 23:
        return  # the two hours are of two days
    assert [point["enqueued"] for point in points] == enqueued
    for point in points:
        assert point["p50_s"] == 0.25
        assert point["p95_s"] == point["p99_s"] == 0.5


@pytest.mark.usefixtures("counted")
def test_a_step_without_a_job_is_a_point_too() -> None:
    before = (AT + timedelta(hours=2)).isoformat()
    points = answer(AREAS.history, "jobs", "--since", AT.isoformat(), "--before", before)
    assert len(points) == 120
    assert (points[1]["enqueued"], points[1]["p50_s"]) == (0, None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--since", "2026-01-01T00:00:00Z", "--step", "1m"), "step: must be"),
        (("--since", AT.isoformat(), "--before", AT.isoformat()), "before: is not after since"),
        (("--since", "1990-01-01T00:00:00Z"), "since: is so far back"),
    ],
)
def test_a_range_that_has_no_such_points_is_refused(options: tuple[str, ...], words: str) -> None:
    assert words in refusal(AREAS.history, "jobs", *options)


def test_an_org_sees_its_own_history_and_cost(client: Client, stranger: Client, database: Connection) -> None:
    for org, cost in ((client.org_id, 7), (stranger.org_id, 100)):
        for job_type in ("probe_jobs.noop", "probe_jobs.ending"):
            values = (AT, org, job_type, cost)
            database.execute("insert into org_hours values (%s, %s, %s, 2, 1, 1, 0, 0, 3.5, %s)", values)
    points = [one for one in client.get("/v1/history/jobs").json["points"] if one["enqueued"]]
    (point,) = points
    assert (point["enqueued"], point["microcents"], point["started"], point["p50_s"]) == (4, 14, None, None)
    assert client.get("/v1/history/jobs?step=1m").json["code"] == "invalid"
    assert client.get("/v1/history/jobs?queue=default").json["code"] == "invalid"
    first = client.get("/v1/history/costs?limit=1").json
    second = client.get(f"/v1/history/costs?limit=1&cursor={first['next_cursor']}").json
    assert [row["job_type"] for page in (first, second) for row in page["hours"]] == [
        "probe_jobs.noop",
        "probe_jobs.ending",
    ]
    assert second["next_cursor"] is None
    assert {row["microcents"] for page in (first, second) for row in page["hours"]} == {7}
    everybody = answer(AREAS.history, "costs")
    assert sum(row["microcents"] for row in everybody) == 214
    assert [row["microcents"] for row in answer(AREAS.history, "costs", "--org", client.org_id)] == [7, 7]
    of_type = ("--job-type", "probe_jobs.noop")
    assert [row["microcents"] for row in answer(AREAS.history, "costs", "--org", client.org_id, *of_type)] == [7]
    assert "job_type: needs an org" in refusal(AREAS.history, "costs", *of_type)


def test_costs_are_summed_by_org_type_and_day(client: Client, stranger: Client, database: Connection) -> None:
    for hours, org, job_type, cost in (
        (0, client.org_id, "a.b", 7),
        (1, client.org_id, "a.c", 20),
        (0, stranger.org_id, "a.b", 100),
        (30, stranger.org_id, "a.b", 1000),
    ):
        values = (AT - timedelta(hours=hours), org, job_type, cost)
        database.execute("insert into org_hours values (%s, %s, %s, 2, 1, 1, 0, 0, 3.5, %s)", values)

    def sums(*options: object) -> dict[object, object]:
        by = str(options[1]).replace("type", "job_type").replace("org", "org_id")
        return {one[by]: one["microcents"] for one in answer(AREAS.history, "sums", *options)}

    assert sums("--by", "type") == {"a.b": 107, "a.c": 20}
    assert sums("--by", "org") == {str(stranger.org_id): 100, str(client.org_id): 27}
    week = ("--since", (AT - timedelta(days=7)).isoformat())
    assert sum(sums("--by", "day", *week).values()) == 1127  # type: ignore[arg-type] # numbers
    found = client.get("/v1/history/sums?by=type").json["sums"]
    assert [(one["job_type"], one["microcents"]) for one in found] == [("a.c", 20), ("a.b", 7)]


def test_what_waits_in_the_queues_is_shown_as_it_was_last_measured(database: Connection) -> None:
    for minutes, backlog in ((0, 5), (1, 9), (2, 1)):
        database.execute(
            "insert into queue_samples values (%s, 1, 'default', 0, %s, 0, 0, 0, %s)",
            (AT + timedelta(minutes=minutes), backlog, backlog * 10),
        )
    database.execute(SPREAD.encode())
    (depth,) = answer(AREAS.history, "depths")
    assert (depth["queue"], depth["backlog"], depth["oldest_due_s"]) == ("default", 1, 10)
    given = ("--since", AT.isoformat(), "--step", "10m", "--queue", "default")
    (at,) = answer(AREAS.history, "queues", *given)
    assert at["backlog"] == 9
    days = ("--since", (AT - timedelta(days=2)).isoformat(), "--step", "1m")
    assert "at most 1500 are shown" in refusal(AREAS.history, "queues", *days)
    assert len(Queue) == 7


def failure(database: Connection, number: int, org: UUID) -> None:
    database.execute(
        "insert into failure_groups (fingerprint, code, job_type, words, first_seen, last_seen, failures, job_ids)"
        " values (%s, %s, 'a.b', 'no …', now(), now() - %s * interval '1 hour', 3, array[%s])",
        (f"print{number}", "gone" if number % 2 else "bug", number, org),
    )


def test_kinds_of_failure_are_listed_shown_and_marked(database: Connection) -> None:
    org = make_org(database, "failing")
    for number in range(4):
        failure(database, number, org)
    listed = answer(AREAS.failures, "list", "--code", "gone")
    assert [one["fingerprint"] for one in listed] == ["print1", "print3"]
    mark = ("--state", "mended", "--note", "see the release of Monday", "--as", "ada")
    marked = answer(AREAS.failures, "mark", "print1", "print2", *mark)
    assert [one["state"] for one in marked] == ["mended", "mended"]
    assert {one["fingerprint"] for one in answer(AREAS.failures, "list", "--state", "mended")} == {"print1", "print2"}
    shown = answer(AREAS.failures, "show", "print1")
    assert (shown["note"], shown["marked_by"], shown["job_ids"]) == (
        "see the release of Monday",
        "operator:ada",
        [str(org)],
    )
    audited = database.execute(
        "select data ->> 'fingerprint' from audit_log where event = 'failure.marked' order by id"
    ).fetchall()
    assert audited == [("print1",), ("print2",)]
    assert "no failure of a job has this fingerprint" in refusal(AREAS.failures, "show", "print9")
    secret = ("--state", "known", "--note", "see postgres://me:hunter2@host/db", "--as", "ada")
    assert "must not carry a secret" in str(answer(AREAS.failures, "mark", "print0", *secret, status=1))
