"""Workflows by command and by HTTP: checked whole, saved, run, sent events, canceled, resumed, drawn; by their org."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4
from xml.etree import ElementTree as ET

import pytest
import yaml
from psycopg import Connection

from commands.workflows import workflows
from domain.orgs.access.api_keys import Role
from engine.relay.due_schedules import DueSchedules
from engine.runtime import Runtime
from storage.postgres.database import Database
from storage.workflows.waits import MOST_KEPT
from tests.commands.calling import answer, call, refusal
from tests.gateway.api.conftest import Client, client_of
from tests.workflows.workflow_jobs import BROKEN
from tests.workflows.workflow_runs import Workflows

BRIEF: dict[str, Any] = {
    "name": "brief",
    "input": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}},
    "nodes": {
        "first": {"job": "workflow_jobs.echo", "with": {"value": "${input.n}", "word": "first"}},
        "go": {"wait": {"event": "go"}, "needs": ["first"]},
        "each": {
            "job": "workflow_jobs.echo", "needs": ["go"], "for_each": ["a", "b", "c"],
            "with": {"value": "${item}", "word": "each"},
        },
        "last": {
            "job": "workflow_jobs.echo", "needs": ["each"], "with": {"value": "${nodes.go.output}", "word": "last"},
        },
    },
    "output": "${nodes.last.output.value}",
}  # fmt: skip
BAD = """\
name: bad
nodes:
  one: {job: no.such, needs: [two]}
  two: {job: workflow_jobs.echo, needs: [one], with: {wrod: x}}
  three:
    wait: {approval: "Go on?", roles: [member]}
    timeout: soon
  four: {job: workflow_jobs.echo, with: {value: "it is ${nodes.nine.output}"}}
  five: {job: workflow_jobs.echo, when: "${nodes.nine.output}", for_each: "${nodes.*}", limit: 0}
  six: {job: maintenance.check_invariants}
  seven: {workflow: nowhere}
"""
FAULTY = {
    "/nodes/one/job", "/nodes/two/with/wrod", "/nodes/three/timeout", "/nodes/four/with/value", "/nodes/seven/workflow",
}  # fmt: skip
"""Some of the values that are wrong in it."""


@pytest.fixture(autouse=True)
def _nothing_is_broken() -> Iterator[None]:
    yield
    BROKEN.clear()


@pytest.fixture
def flows(process: Runtime, database: Connection, org: UUID) -> Workflows:
    return Workflows(process, database, org)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def save(client: Client, document: dict[str, Any] = BRIEF) -> int:
    saved = client.post("/v1/workflows/definitions", document)
    assert saved.status == 200, saved.body
    return int(saved.json["version"])


def start(client: Client, flows: Workflows, **given: Any) -> str:  # noqa: ANN401 - fields of the body
    """A run that has done what it can by itself."""
    made = client.post("/v1/workflows/runs", {"workflow": "brief", "input": {"n": 4}, **given})
    assert (made.status, made.headers["location"]) == (202, f"/v1/workflows/runs/{made.json['run_id']}")
    flows.drain()
    return str(made.json["run_id"])


def events(database: Connection, like: str = "workflow.%") -> list[str]:
    query = "select event from audit_entries where event like %s and event not in ('workflow.begun', 'workflow.ended')"
    return [row[0] for row in database.execute(f"{query} order by id", (like,))]


def test_all_faults_are_said_with_place_and_reason_at_each_entry_point(
    client: Client, org: UUID, tmp_path: Path
) -> None:
    file = write(tmp_path, "bad.yaml", BAD)
    checked = answer(workflows, "validate", file, "--org", org, status=1)
    places = {one["pointer"]: one for one in checked["faults"]}
    assert (checked["valid"], checked["name"]) == (False, None)
    assert places.keys() > FAULTY
    assert all(one["reason"] and BAD.splitlines()[one["line"] - 1].strip() for one in places.values())

    def where(one: dict[str, Any]) -> str:
        return f"{file}:{one['line']}:{one['column']}"

    as_text = call(workflows, "validate", file, "--org", org)
    assert (as_text.exit_code, as_text.stdout.splitlines()) == (
        1, [f"{where(one)}: {one['pointer']}: {one['reason']}" for one in checked["faults"]]
    )  # fmt: skip
    saved = refusal(workflows, "save", file, "--org", org).removeprefix("Error: ").splitlines()
    assert len(saved) == len(checked["faults"])
    for line, one in zip(saved, checked["faults"], strict=True):
        assert line.startswith(f"{where(one)}: {one['pointer'].split('/')[1]}")
        assert line.endswith(one["reason"])
    document = yaml.safe_load(BAD)
    over_http = client.post("/v1/workflows/validate", document).json["faults"]
    refused = client.post("/v1/workflows/definitions", document)
    assert (refused.status, refused.json["code"], refused.json["field"]) == (422, "invalid", over_http[0]["pointer"])
    assert {one["pointer"] for one in refused.json["faults"]} == {one["pointer"] for one in over_http} == places.keys()
    assert client.get("/v1/workflows/definitions").json["workflows"] == []


@pytest.mark.parametrize("name", ["brief.yaml", "brief.json"])
def test_a_workflow_is_saved_from_a_file_and_the_same_document_is_the_same_version(
    org: UUID, tmp_path: Path, name: str, process: Runtime
) -> None:
    assert process.database is not None
    file = write(tmp_path, name, json.dumps(BRIEF))
    assert "4 nodes and no fault" in call(workflows, "validate", file, "--org", org).stdout
    first, again = (answer(workflows, "save", file, "--org", org) for _ in range(2))
    assert ((first["version"], first["created"]), (again["version"], again["created"])) == ((1, True), (1, False))
    write(tmp_path, name, json.dumps(BRIEF | {"deadline": "P1D"}))
    assert answer(workflows, "save", file, "--org", org)["version"] == 2
    assert [(one["name"], one["version"]) for one in answer(workflows, "list", "--org", org)] == [("brief", 2)]
    assert [one["version"] for one in answer(workflows, "versions", "brief", "--org", org)] == [2, 1]
    assert answer(workflows, "definition", "brief", "--org", org, "--version", "1")["document"] == BRIEF
    assert "no workflow brief in version 9" in refusal(workflows, "definition", "brief", "--org", org, "--version", "9")


def test_a_run_is_started_shown_sent_an_event_and_drawn_over_http(
    client: Client, flows: Workflows, database: Connection
) -> None:
    save(client)
    run_id = start(client, flows)
    path = f"/v1/workflows/runs/{run_id}"
    shown = client.get(path).json
    assert (shown["state"], shown["workflow"], shown["version"], shown["input"]) == ("running", "brief", 1, {"n": 4})
    assert {one["node"]: one["state"] for one in shown["nodes"]} == {
        "each": "pending", "first": "succeeded", "go": "waiting", "last": "pending"
    }  # fmt: skip
    sent = client.post(f"{path}/events/go", {"payload": {"by": "ada"}}, {"Idempotency-Key": "k"})
    again = client.post(f"{path}/events/go", {"payload": {"by": "ada"}}, {"Idempotency-Key": "k"})
    assert (sent.status, again.json["event_id"]) == (201, sent.json["event_id"])
    flows.drain()
    assert (client.get(path).json["state"], client.get(path).json["output"]) == ("succeeded", {"by": "ada"})
    assert client.get(f"{path}/nodes/last").json["output"]["value"] == {"by": "ada"}
    first = client.get(f"{path}/nodes/each/items?limit=2").json
    rest = client.get(f"{path}/nodes/each/items?limit=2&cursor={first['next_cursor']}").json
    assert [one["item"] for one in (*first["nodes"], *rest["nodes"])] == [0, 1, 2]
    assert client.get(f"{path}/nodes/each?item=1").json["output"]["value"] == "b"
    assert [(one["name"], one["taken_by_node"]) for one in client.get(f"{path}/events").json["events"]] == [
        ("go", "go")
    ]
    assert client.post(f"{path}/events/go").status == 409, "the run has ended"
    assert events(database) == ["workflow.saved", "workflow.signaled"]
    for picture in (f"{path}/graph", "/v1/workflows/definitions/brief/graph"):
        drawn = client.get(picture)
        assert (drawn.status, drawn.headers["content-type"].partition(";")[0]) == (200, "image/svg+xml")
        assert ET.fromstring(drawn.body).tag.endswith("svg")  # noqa: S314 - our own


def test_a_run_is_started_listed_sent_an_event_and_drawn_by_command(
    org: UUID, flows: Workflows, tmp_path: Path
) -> None:
    file = write(tmp_path, "brief.json", json.dumps(BRIEF))
    answer(workflows, "save", file, "--org", org)
    assert "input.n" in refusal(workflows, "run", "brief", "--org", org, "--input", '{"n": "x"}')
    made = answer(workflows, "run", "brief", "--org", org, "--input", '{"n": 1}', "--as", "ada")["run_id"]
    flows.drain()
    answer(workflows, "signal", made, "go", "--payload", '{"by": "ada"}')
    flows.drain()
    assert answer(workflows, "show", made)["output"] == {"by": "ada"}
    ((listed),) = answer(workflows, "runs", "--org", org, "--state", "succeeded")
    assert (listed["run_id"], listed["actor_id"]) == (made, "operator:ada")
    assert answer(workflows, "runs", "--org", org, "--state", "failed") == []
    for words in ((made,), ("--workflow", "brief", "--org", str(org))):
        picture = tmp_path / "graph.svg"
        assert call(workflows, "graph", *words, "--output", picture).exit_code == 0
        assert ET.parse(picture).getroot().tag.endswith("svg")  # noqa: S314 - our own
    assert "run_id: " in refusal(workflows, "graph", "--output", tmp_path / "x.svg")


def test_what_a_run_cannot_take_is_refused_by_its_field(client: Client, flows: Workflows) -> None:
    save(client)
    run_id = start(client, flows)
    runs, path = "/v1/workflows/runs", f"/v1/workflows/runs/{run_id}"
    refusals = {
        "no such workflow": (runs, {"workflow": "tale", "input": {}}, 404, None),
        "no such version": (runs, {"workflow": "brief", "version": 9, "input": {"n": 1}}, 404, None),
        "no input": (runs, {"workflow": "brief"}, 422, "input"),
        "another input": (runs, {"workflow": "brief", "input": {"n": "x"}}, 422, "input.n"),
        "a large input": (runs, {"workflow": "brief", "input": {"n": 1, "x": "x" * 70_000}}, 422, "input"),
        "an input with NUL": (runs, {"workflow": "brief", "input": {"n": 1, "x": "\0"}}, 422, "input"),
        "an unknown event": (f"{path}/events/stop", {}, 422, "name"),
        "a large event": (f"{path}/events/go", {"payload": {"x": "x" * 70_000}}, 422, "payload"),
        "an event with NUL": (f"{path}/events/go", {"payload": {"x": "\0"}}, 422, "payload"),
        "an event with a secret": (f"{path}/events/go", {"payload": {"password": "abcdefgh"}}, 422, "payload.password"),
        "a run that goes on": (f"{path}/resume", {}, 409, None),
    }
    for what, (route, document, status, field) in refusals.items():
        refused = client.post(route, document)
        assert (refused.status, refused.json.get("field")) == (status, field), (what, refused.body)


def test_a_run_keeps_so_many_events_and_no_more(client: Client, flows: Workflows, database: Connection) -> None:
    save(client)
    run_id = start(client, flows)
    database.execute("update workflow_nodes set state = 'pending' where node = 'go'")
    keep = (
        "insert into workflow_events (org_id, run_id, name, payload, sent_by)"
        " select %s, %s, 'go', '{}', 'x' from generate_series(1, %s)"
    )
    database.execute(keep, (client.org_id, run_id, MOST_KEPT - 1))
    statuses = [client.post(f"/v1/workflows/runs/{run_id}/events/go").status for _ in range(2)]
    assert statuses == [201, 403]


def test_a_run_is_canceled_once(client: Client, flows: Workflows, database: Connection) -> None:
    save(client)
    run_id = start(client, flows)
    canceled = client.post(f"/v1/workflows/runs/{run_id}/cancel", {"reason": "not today"})
    assert (canceled.status, canceled.json["cancel_requested_at"] is None) == (202, False)
    flows.drain()
    shown = client.get(f"/v1/workflows/runs/{run_id}").json
    assert (shown["state"], shown["cancel_reason"]) == ("canceled", "not today")
    assert client.post(f"/v1/workflows/runs/{run_id}/cancel").status == 409
    assert client.post(f"/v1/workflows/runs/{run_id}/events/go").status == 409
    assert events(database) == ["workflow.saved", "workflow.cancel_requested"]


def fail(client: Client, flows: Workflows, word: str = "last") -> str:
    """A run whose node of that word has failed."""
    BROKEN.add(word)
    run_id = start(client, flows)
    client.post(f"/v1/workflows/runs/{run_id}/events/go")
    flows.drain()
    assert client.get(f"/v1/workflows/runs/{run_id}").json["state"] == "failed"
    BROKEN.clear()
    return run_id


def changed(node: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - keys of a node
    return BRIEF | {"nodes": BRIEF["nodes"] | {node: BRIEF["nodes"][node] | changes}}


def test_a_failed_run_goes_on_where_it_failed_also_by_a_version_in_which_the_rest_is_the_same(
    client: Client, flows: Workflows, database: Connection
) -> None:
    save(client)
    run_id = fail(client, flows)
    path = f"/v1/workflows/runs/{run_id}"
    other = save(client, changed("first", **{"with": {"value": 7}}))
    refused = client.post(f"{path}/resume", {"version": other})
    assert (refused.status, refused.json["detail"].rpartition(": ")[2]) == (409, "first")
    assert client.post(f"{path}/resume", {"version": 99}).json["field"] == "version"
    mended = save(client, changed("last", **{"with": {"value": "mended"}}))
    resumed = client.post(f"{path}/resume", {"version": mended})
    assert (resumed.status, resumed.json["round"], resumed.json["version"]) == (202, 2, mended)
    flows.drain()
    assert (client.get(path).json["state"], client.get(path).json["output"]) == ("succeeded", "mended")
    assert client.post(f"{path}/resume").status == 409, "there is nothing to do again"
    assert events(database, "workflow.resumed") == ["workflow.resumed"]
    assert database.execute("select count(*) from jobs where payload ->> 'word' = 'first'").fetchone() == (1,)


def test_the_failed_runs_of_a_workflow_are_resumed_a_page_at_a_time(
    client: Client, org: UUID, flows: Workflows
) -> None:
    save(client)
    ids = [fail(client, flows) for _ in range(3)]
    body = {"workflow": "brief", "failed_since": "2020-01-01T00:00:00Z"}
    first = client.post("/v1/workflows/resume-failed?limit=2", body).json
    assert [(one["run_id"], one["round"]) for one in first["runs"]] == [(one, 2) for one in ids[:2]]
    rest = answer(
        workflows, "resume-failed", "--workflow", "brief", "--org", org, "--failed-since", "2020-01-01T00:00:00Z",
        "--cursor", first["next_cursor"], "--version", "9",
    )  # fmt: skip
    assert [(one["run_id"], one["round"], "version" in one["refused"]) for one in rest] == [(ids[2], None, True)]
    flows.drain()
    found = client.get("/v1/workflows/runs").json["runs"]
    assert [(one["run_id"], one["state"]) for one in found] == [
        (ids[2], "failed"), (ids[1], "succeeded"), (ids[0], "succeeded")
    ]  # fmt: skip
    none = client.post("/v1/workflows/resume-failed", body | {"failed_since": "2099-01-01T00:00:00Z"}).json
    assert none["runs"] == []


def test_another_org_sees_nothing_of_a_workflow_and_its_runs(
    client: Client, stranger: Client, flows: Workflows, database: Connection
) -> None:
    save(client)
    run_id = start(client, flows)
    before = database.execute("select count(*) from audit_entries").fetchone()
    for verb, path in (
        ("get", "/definitions/brief"), ("get", "/definitions/brief/graph"), ("get", "/runs/{run}"),
        ("get", "/runs/{run}/graph"), ("get", "/runs/{run}/nodes/first"), ("get", "/runs/{run}/nodes/each/items"),
        ("get", "/runs/{run}/events"), ("post", "/runs/{run}/events/go"), ("post", "/runs/{run}/cancel"),
        ("post", "/runs/{run}/resume"),
    ):  # fmt: skip
        foreign, unknown = (
            getattr(stranger, verb)("/v1/workflows" + path.format(run=one)) for one in (run_id, uuid4())
        )
        assert (foreign.status, unknown.status) == (404, 404), path
        assert foreign.json["code"] == unknown.json["code"]
    for path, field in (("/definitions", "workflows"), ("/definitions/brief/versions", "workflows"), ("/runs", "runs")):
        assert stranger.get(f"/v1/workflows{path}").json[field] == []
    assert stranger.post("/v1/workflows/runs", {"workflow": "brief", "input": {"n": 1}}).status == 404
    assert database.execute("select count(*) from audit_entries").fetchone() == before


def test_a_reader_looks_and_a_writer_resumes_nothing(
    client: Client, store: Database, door: str, flows: Workflows
) -> None:
    save(client)
    run_id = start(client, flows)
    reader, writer = (client_of(store, door, client.org_id, role) for role in (Role.READER, Role.WRITER))
    assert reader.get(f"/v1/workflows/runs/{run_id}").status == 200
    assert reader.post("/v1/workflows/validate", BRIEF).json["valid"]
    for path, document in (
        ("definitions", BRIEF), ("runs", {"workflow": "brief"}), (f"runs/{run_id}/events/go", {}),
        (f"runs/{run_id}/cancel", {}),
    ):  # fmt: skip
        assert reader.post(f"/v1/workflows/{path}", document).status == 403
    assert writer.post(f"/v1/workflows/runs/{run_id}/resume").status == 403
    assert writer.post(f"/v1/workflows/runs/{run_id}/cancel").status == 202


def test_a_schedule_starts_runs(client: Client, flows: Workflows, process: Runtime, database: Connection) -> None:
    save(client)
    wanted = {"job_type": "workflows.run", "cron": "* * * * *", "payload": {"workflow": "brief", "input": {"n": 1}}}
    assert client.post("/v1/schedules", {"name": "each minute", **wanted}).status == 201
    database.execute("update schedules set next_run_at = now() - interval '1 second'")
    DueSchedules(process).turn()
    flows.drain()
    ((found),) = client.get("/v1/workflows/runs").json["runs"]
    assert (found["workflow"], found["state"]) == ("brief", "running")
    assert found["actor_id"].startswith("schedule")


ASKS: dict[str, Any] = {
    "name": "asks",
    "nodes": {
        "approve": {"wait": {"approval": "Go on?", "show": {"words": 12}}, "timeout": "PT12H"},
        "yes": {"job": "workflow_jobs.echo", "needs": ["approve"], "with": {"value": "${nodes.approve.output.reason}"}},
        "no": {
            "job": "workflow_jobs.echo", "needs": ["approve"], "run_if": "failed",
            "with": {"value": "${nodes.approve.error.code}"},
        },
    },
    "output": "${[nodes.yes.state, nodes.no.state]}",
}  # fmt: skip


@pytest.mark.parametrize(
    ("choice", "states"), [("approve", ["succeeded", "skipped"]), ("deny", ["skipped", "succeeded"])]
)
def test_a_run_waits_for_a_person_and_goes_on_as_they_decide(
    client: Client, flows: Workflows, database: Connection, choice: str, states: list[str]
) -> None:
    save(client, ASKS)
    run_id = start(client, flows, workflow="asks", input={})
    ((asked),) = client.get("/v1/approvals").json["approvals"]
    assert (asked["about"], asked["node"]["run_id"], asked["node"]["show"]) == ("workflow", run_id, {"words": 12})
    asking = "select payload ->> 'reminder', run_at > now() + '7 hours' from jobs where job_type = %s order by 2"
    assert database.execute(asking, ("approvals.notify",)).fetchall() == [("false", False), ("true", True)]
    assert client.post(f"/v1/approvals/{asked['approval_id']}/{choice}", {"reason": "because"}).status == 200
    flows.drain()
    shown = client.get(f"/v1/workflows/runs/{run_id}").json
    assert (shown["state"], shown["output"]) == ("succeeded", states)
    assert client.get("/v1/approvals").json["approvals"] == []
