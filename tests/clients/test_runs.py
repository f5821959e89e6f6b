"""Runs of workflows by the client: started once, looked at, sent events, waited for."""

from uuid import UUID

import pytest
from postroom_client import Client, Invalid, NotFound, Run, RunNotSucceeded
from psycopg import Connection

from engine.runtime import Runtime
from sandbox.emulator.fault_order import FaultOrder
from tests.clients.lossy_gateway import LossyGateway
from tests.workflows.workflow_jobs import BROKEN
from tests.workflows.workflow_runs import Workflows

ORDER = """\
name: order
input: {type: object, required: [number], properties: {number: {type: string}}}
nodes:
  paid: {wait: {event: paid}}
  pack: {job: workflow_jobs.echo, needs: [paid], with: {value: "${nodes.paid.output}", word: pack}}
output: "${nodes.pack.output.value}"
"""


@pytest.fixture
def workflows(process: Runtime, database: Connection, org: UUID) -> Workflows:
    made = Workflows(process, database, org)
    made.save(ORDER)
    return made


def test_a_run_is_started_sent_an_event_and_waited_for(client: Client, workflows: Workflows) -> None:
    started = client.start_run("order", {"number": "4711"}, key="k")
    assert client.start_run("order", {"number": "4711"}, key="k") == started
    workflows.drain()
    seen: list[Run] = []

    def look(run: Run) -> None:
        seen.append(run)
        if len(seen) == 1:
            assert [(node.node, node.state, node.wait_name) for node in run.nodes] == [
                ("pack", "pending", None),
                ("paid", "waiting", "paid"),
            ]
            sent = client.send_event(started.run_id, "paid", {"amount": 12}, key="e")
            assert client.send_event(started.run_id, "paid", {"amount": 12}, key="e") == sent
            workflows.drain()

    ended = client.wait_for_run(started.run_id, timeout_s=30, on_change=look)
    assert [run.state for run in seen] == ["running", "succeeded"]
    assert ended.result() == {"amount": 12}
    (event,) = client.run_events(started.run_id)
    assert (event.name, event.payload, event.taken_by_node) == ("paid", {"amount": 12}, "paid")


def test_an_event_whose_answer_was_lost_is_one(lossy: LossyGateway, lossy_client: Client, workflows: Workflows) -> None:
    started = lossy_client.start_run("order", {"number": "1"}, key="k")
    workflows.drain()
    lossy.faults.order(FaultOrder(path="/events/", drop="after"))
    lossy_client.send_event(started.run_id, "paid", key="e")
    assert len(lossy_client.run_events(started.run_id)) == 1


def test_more_events_than_a_page_are_all_there(client: Client, workflows: Workflows) -> None:
    started = client.start_run("order", {"number": "1"}, key="k")
    for number in range(120):
        workflows.send(started.run_id, "paid", number)
    assert sorted(event.payload for event in client.run_events(started.run_id)) == list(range(120))


def test_a_run_that_fails_says_why(client: Client, workflows: Workflows) -> None:
    started = client.start_run("order", {"number": "1"}, key="k")
    BROKEN.add("pack")
    try:
        client.send_event(started.run_id, "paid")
        workflows.drain()
    finally:
        BROKEN.clear()
    with pytest.raises(RunNotSucceeded) as failed:
        client.run(started.run_id).result()
    assert failed.value.run.state == "failed"
    assert "pack" in failed.value.run.failure["nodes"]  # type: ignore[index]  # it has one
    assert failed.value.code


def test_a_refusal_names_the_field(client: Client, workflows: Workflows) -> None:
    assert workflows.org
    with pytest.raises(NotFound, match="there is no workflow nowhere"):
        client.start_run("nowhere", key="k")
    with pytest.raises(Invalid) as refused:
        client.start_run("order", {}, key="k")
    assert str(refused.value.field).startswith("input")
