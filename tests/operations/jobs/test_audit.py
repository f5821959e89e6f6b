"""What happened is listed and shown with what it changed, by command and by HTTP."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from commands.audit import audit
from commands.operations import AREAS
from domain.orgs.access.api_keys import Role
from operations.jobs.audit import known_events
from storage.jobs import job_types
from tests.commands.calling import answer, refusal
from tests.doubles.changed_sheets import SHEET, SLOT, add_change
from tests.doubles.factories import make_org
from tests.doubles.told_people import ToldPeople
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import serve
from tests.house.reading import ROOT

NO_EVENTS = {"notifications.send_", "artifacts.no_url", "approval.refused"} | {
    "action.parameters",
    "evidence.rationale",
    "node.show",
}
"""The begin of job types' names, codes of refusals, and fields that are shown by their shapes."""


@pytest.fixture
def door(told: ToldPeople) -> Iterator[str]:
    with serve(told.process.settings) as url:
        yield url


@pytest.fixture
def client(told: ToldPeople, door: str) -> Client:
    return client_of(told.process.database, door, told.org_id, Role.OPERATOR)


def enrich(told: ToldPeople) -> None:
    """Run the jobs that a change has enqueued."""
    assert told.run_due("audit.%") == [("audit.enrich", "succeeded")]


def made(client: Client, path: str, **facts: object) -> dict[str, Any]:
    said = client.post(path, facts)
    assert said.status == 201, said.body
    return dict(said.json)


def test_a_change_is_said_in_words_by_the_clocks_of_its_project(client: Client, told: ToldPeople) -> None:
    project = made(client, "/v1/projects", name="Festival", zone="Europe/Berlin")["project_id"]
    sheet = made(client, f"/v1/projects/{project}/run-sheets", name="Friday")["run_sheet_id"]
    slots = f"/v1/projects/{project}/run-sheets/{sheet}/slots"
    times = {"starts_at": "2026-05-01T06:00:00Z", "ends_at": "2026-05-01T08:00:00Z"}
    slot = made(client, slots, name="Load-in", **times)["slot_id"]
    assert client.change(f"{slots}/{slot}", {"ends_at": "2026-05-01T09:00:00Z"}).status == 200
    enrich(told)
    moved, added = client.get(f"/v1/audit?subject_id={sheet}").json["events"]
    assert moved["sentences"] == [
        "“Load-in” was moved to 2026-05-01 08:00 to 11:00 (before: 2026-05-01 08:00 to 10:00) (Europe/Berlin)."
    ]
    assert added["sentences"] == ["“Load-in” was added: 2026-05-01 08:00 to 10:00 (Europe/Berlin)."]
    assert "before" not in moved["data"]
    shown = client.get(f"/v1/audit/{moved['id']}").json
    (found,) = shown["details"]
    assert found["changes"] == [
        {
            "op": "replace",
            "path": f"/slots/{slot}/ends_at",
            "value": "2026-05-01T09:00:00Z",
            "was": "2026-05-01T08:00:00Z",
        }
    ]
    assert (found["subject_id"], found["revision"], found["rule_version"]) == (sheet, 3, 1)
    assert shown["data"]["before"]["slots"][slot]["ends_at"] == "2026-05-01T08:00:00+00:00"
    assert answer(audit, "show", moved["id"], "--org", told.org_id)["details"][0]["sentences"] == moved["sentences"]
    newest = answer(AREAS.audit, "list", "--org", told.org_id, "--limit", 1)
    assert (newest[0]["id"], newest[0]["sentences"]) == (moved["id"], moved["sentences"])


def test_a_change_without_details_yet_is_listed_without_sentences(client: Client, told: ToldPeople) -> None:
    event_id = add_change(told.database, told.org_id, "Build")
    (listed,) = client.get("/v1/audit?limit=1").json["events"]
    assert (listed["id"], listed["sentences"], listed["known_as"]) == (event_id, [], None)
    assert client.get(f"/v1/audit/{event_id}").json["details"] == []
    assert client.get(f"/v1/audit?subject_id={SHEET}").json["events"] == []


def test_the_list_goes_on_where_a_page_ended(client: Client, told: ToldPeople) -> None:
    events = [add_change(told.database, told.org_id, name) for name in "abc"]
    with told.process.database.ledger() as tx:
        tx.raw("select postroom.enqueue('audit.enrich', %(org)s, '{}')", {"org": told.org_id})
    enrich(told)
    for asked in (f"subject_id={SHEET}", "correlation=c"):
        found, cursor = [], ""
        while True:
            page = client.get(f"/v1/audit?limit=2&{asked}{cursor}").json
            found += [one["id"] for one in page["events"]]
            if page["next_cursor"] is None:
                break
            cursor = f"&cursor={page['next_cursor']}"
        assert found == (events if asked.startswith("correlation") else events[::-1])


def test_another_orgs_events_and_a_readers_questions_are_refused(client: Client, told: ToldPeople, door: str) -> None:
    other = make_org(told.database, "another")
    theirs = add_change(told.database, other, "Build")
    assert client.get(f"/v1/audit/{theirs}").status == 404
    assert theirs not in [one["id"] for one in client.get("/v1/audit").json["events"]]
    assert client.get("/v1/audit?correlation=c").json["events"] == []
    assert client.get("/v1/audit/0").status in {400, 422}
    assert client.get(f"/v1/audit?correlation=c&subject_id={SLOT}").status in {400, 422}
    reader = client_of(told.process.database, door, told.org_id, Role.READER)
    assert reader.get("/v1/audit").status == 403
    assert "org: must be named" in refusal(audit, "list", "--subject-id", SHEET)
    assert answer(audit, "show", theirs)["org_id"] == str(other)
    assert "there is no such event" in refusal(audit, "show", theirs, "--org", told.org_id)


def test_events_are_asked_for_by_their_name_or_a_source_documents(client: Client, told: ToldPeople) -> None:
    for event in ("email.sent", "gate.closed", "job.deadlettered", "email.sent"):
        told.database.execute(
            "insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id)"
            " values (%s, %s, 'system', 'x', 'r', 'c')",
            (event, told.org_id),
        )
    sent = client.get("/v1/audit?event=EMAIL_SENT").json["events"]
    assert [(one["event"], one["known_as"]) for one in sent] == [("email.sent", "EMAIL_SENT")] * 2
    assert client.get("/v1/audit?event=email.sent").json["events"] == sent
    (died,) = client.get("/v1/audit?event=JOB_EXHAUSTED_RETRIES").json["events"]
    assert died["event"] == "job.deadlettered"
    page = client.get("/v1/audit?event=email.sent&limit=1").json
    assert page["events"] == sent[:1]
    assert client.get(f"/v1/audit?event=email.sent&cursor={page['next_cursor']}").json["events"] == sent[1:]
    listed = answer(AREAS.audit, "list", "--org", told.org_id, "--event", "EMAIL_SENT")
    assert [one["id"] for one in listed] == [one["id"] for one in sent]
    assert client.get("/v1/audit?event=job.started").json["field"] == "event"
    assert client.get("/v1/audit?event=email.sent&correlation=c").json["field"] == "correlation"
    assert "org" in refusal(AREAS.audit, "list", "--event", "email.sent")


def test_a_name_that_no_event_has_is_refused_with_those_near_it(client: Client, told: ToldPeople) -> None:
    refused = client.get("/v1/audit?event=gate.close").json
    assert refused["field"] == "event"
    assert "gate.closed" in refused["reason"]
    assert "near it are" in refusal(AREAS.audit, "list", "--org", told.org_id, "--event", "rule.adedd")
    for known in ("gate.closed", "key.revoked", "email.sent", "EMAIL_SENT", "job.deadlettered"):
        assert client.get(f"/v1/audit?event={known}").status == 200


def test_all_events_that_are_written_where_things_are_kept_can_be_asked_for(told: ToldPeople) -> None:
    """Else a new one would be refused by its name until the first is written."""
    writes = re.compile(r"deeds\.record\(|into (?:public\.)?audit_entries")
    names = re.compile(r"""["']([a-z_]+\.[a-z_]+)["']""")
    files = [
        *(ROOT / "storage").rglob("*.py"),
        *(ROOT / "storage").rglob("*.sql"),
        *(ROOT / "operations").rglob("*.py"),
    ]
    texts = [text for text in (path.read_text() for path in files) if writes.search(text)]
    assert len(texts) > 15
    with told.process.database.ledger() as tx:
        known = known_events(tx)
        types = {one.name for one in job_types.listed(tx)}
    moves_and_settings = ("job.", "postroom.", "public.")
    found = {name for text in texts for name in names.findall(text) if not name.startswith(moves_and_settings)}
    assert found - known - types - NO_EVENTS == set()
    assert {"key.created", "notification.refused", "schedule.added"} <= known
