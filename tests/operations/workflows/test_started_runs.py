"""A run that an operation has started is there from the answer on: looked at, sent events, canceled before its job."""

from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection

from engine.runtime import Runtime
from tests.gateway.api.conftest import Client
from tests.workflows.workflow_runs import Workflows

BRIEF: dict[str, Any] = {
    "name": "brief",
    "input": {"type": "object", "properties": {"n": {"type": "integer"}}},
    "nodes": {
        "first": {"job": "workflow_jobs.echo", "with": {"value": "${input.n}", "word": "first"}},
        "go": {"wait": {"event": "go"}, "needs": ["first"]},
    },
}


@pytest.fixture
def flows(process: Runtime, database: Connection, org: UUID, client: Client) -> Workflows:
    saved = client.post("/v1/workflows/definitions", BRIEF)
    assert saved.status == 200, saved.body
    return Workflows(process, database, org)


def test_a_run_is_there_from_the_answer_on(client: Client, flows: Workflows, database: Connection) -> None:
    """No job has run: whoever got the id may do with it at once what may ever be done with a run."""
    started = client.post("/v1/workflows/runs", {"workflow": "brief", "input": {"n": 4}})
    path = f"/v1/workflows/runs/{started.json['run_id']}"
    nodes = client.get(path).json["nodes"]
    looks = ("", f"/nodes/{nodes[0]['node']}", f"/nodes/{nodes[0]['node']}/items", "/events", "/graph")
    assert {look: client.get(path + look).status for look in looks} == dict.fromkeys(looks, 200)
    assert [one["run_id"] for one in client.get("/v1/workflows/runs").json["runs"]] == [started.json["run_id"]]
    assert client.get(f"/v1/jobs/{started.json['run_id']}").status == 200
    assert client.post(f"{path}/resume").status == 409
    assert client.post(f"{path}/events/go").status == 201
    assert [one["name"] for one in client.get(f"{path}/events").json["events"]] == ["go"]
    flows.drain()
    query = "select count(*) from audit_entries where event = 'workflow.begun'"
    assert database.execute(query).fetchone() == (1,)
    assert client.get(path).json["state"] != "canceled"


@pytest.mark.parametrize("by", ["run", "job"])
def test_a_run_that_is_canceled_before_it_has_begun_does_nothing(
    client: Client, flows: Workflows, database: Connection, by: str
) -> None:
    run_id = client.post("/v1/workflows/runs", {"workflow": "brief", "input": {"n": 4}}).json["run_id"]
    path = f"/v1/workflows/runs/{run_id}" if by == "run" else f"/v1/jobs/{run_id}"
    assert client.post(f"{path}/cancel", {"reason": "not today"}).status in {200, 202}
    flows.drain()
    shown = client.get(f"/v1/workflows/runs/{run_id}").json
    assert (shown["state"], shown["cancel_reason"]) == ("canceled", "not today")
    assert {node["state"] for node in shown["nodes"]} == {"canceled"}
    assert database.execute("select from jobs where job_type not like 'workflows.%'").fetchall() == []


def test_a_run_whose_job_dies_fails_and_is_resumed(client: Client, flows: Workflows, database: Connection) -> None:
    """It would stand still for ever: the replay of a job that begins a run begins another run."""
    run_id = client.post("/v1/workflows/runs", {"workflow": "brief", "input": {"n": 4}}).json["run_id"]
    database.execute("update jobs set payload = payload || '{\"workflow\": 7}' where id = %s", (run_id,))
    flows.drain()
    assert client.get(f"/v1/jobs/{run_id}").json["state"] == "dead"
    shown = client.get(f"/v1/workflows/runs/{run_id}").json
    assert (shown["state"], shown["cancel_reason"]) == ("failed", None)
    assert "workflow" in shown["failure"]["reason"]
    asked = {"workflow": "brief", "failed_since": shown["created_at"]}
    resumed = client.post("/v1/workflows/resume-failed", asked).json
    assert [one["run_id"] for one in next(iter(resumed.values()))] == [run_id]
    flows.drain()
    nodes = {one["node"]: one["state"] for one in client.get(f"/v1/workflows/runs/{run_id}").json["nodes"]}
    assert nodes == {"first": "succeeded", "go": "waiting"}


def test_a_run_that_has_ended_does_not_begin_afterwards(client: Client, flows: Workflows, database: Connection) -> None:
    run_id = client.post("/v1/workflows/runs", {"workflow": "brief", "input": {"n": 4}}).json["run_id"]
    assert client.post(f"/v1/workflows/runs/{run_id}/cancel", {"reason": "not today"}).status in {200, 202}
    flows.drain("workflows.advance")
    flows.drain()
    found = database.execute("select event from audit_entries where event like 'workflow.%' order by at").fetchall()
    assert [event for (event,) in found][-1] == "workflow.ended"
    assert ("workflow.begun",) not in found
