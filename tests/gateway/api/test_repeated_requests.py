"""A request that makes something is answered with the first one when it comes again under its key, on every route."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from psycopg import Connection

from domain.jobs.job import Origin, State
from domain.jobs.lifecycle import Settlement
from domain.jobs.scheduling.cron import Missed, Timetable
from domain.mail.actions.label_actions import Archive
from domain.mail.actions.requested_action import parse_action
from domain.mail.actions.undo_hint import hint_for
from domain.mail.triage.safety import SafetyEnforcer, SafetyPolicy
from domain.orgs.access.api_keys import Role
from storage.jobs import ledger
from storage.jobs.schedules import schedules
from storage.jobs.schedules.schedules import RequestedJob
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from storage.postgres.database import Database
from tests.doubles import probe_jobs
from tests.doubles.factories import claim_one, enqueue_one
from tests.doubles.mail_factories import make_account, store_message
from tests.doubles.workflows.asking_nodes import BRIEF, begin_run, save_workflow
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import ask
from tests.storage.postgres.row_makers import fill_project

KEY = {"Idempotency-Key": "order 7"}
RULE = {"name": "Lunch", "when": {"from": "ada@example.org"}, "then": {"class": "fyi"}}
DIRECTION = {"content": "Be brief."}

HARMLESS: Mapping[str, str] = {
    "/v1/accounts/connect": "a link more; each works once, and what it connects is connected once",
    "/v1/accounts/{account_id}/disconnect": "409 when it is disconnected already",
    "/v1/approvals/{approval_id}/approve": "a question is decided once: 409 afterwards",
    "/v1/approvals/{approval_id}/deny": "a question is decided once: 409 afterwards",
    "/v1/artifacts/{artifact_id}/link": "keeps nothing: a second link is as good as the first",
    "/v1/artifacts/{artifact_id}/revoke": "all links that were given are revoked",
    "/v1/bulk-actions/{bulk_id}/abort": "an aborted action is aborted",
    "/v1/bulk-actions/{bulk_id}/resume": "an action that goes on goes on",
    "/v1/dead-letters/{letter_id}/discard": "409 when it is closed already",
    "/v1/jobs/{job_id}/cancel": "a canceled job is canceled again",
    "/v1/notifications": "the same recipient, template, data and bucket are one notification",
    "/v1/planning/proposals/{proposal_id}/apply": "409 when it is applied already",
    "/v1/rules/test": "makes nothing",
    "/v1/rules/{rule_id}/disable": "an off rule is off",
    "/v1/rules/{rule_id}/enable": "a rule that is on is on",
    "/v1/rules/{rule_id}/test": "makes nothing",
    "/v1/schedules": "an org has one schedule of a name: 409 afterwards",
    "/v1/schedules/{name}/pause": "a paused schedule is paused",
    "/v1/schedules/{name}/resume": "a schedule that goes on goes on",
    "/v1/users/{user_id}/contact-points": "a person has an address once, and gets one code a minute",
    "/v1/users/{user_id}/contact-points/{contact_id}/allow": "an address that is allowed is allowed",
    "/v1/users/{user_id}/contact-points/{contact_id}/code": "409 within a minute",
    "/v1/users/{user_id}/contact-points/{contact_id}/verify": "a verified address is verified",
    "/v1/users/{user_id}/inbox/read": "what is read is read",
    "/v1/users/{user_id}/inbox/{seq}/read": "what is read is read",
    "/v1/users/{user_id}/inbox/{seq}/unread": "what is unread is unread",
    "/v1/reminders/{reminder_id}/done": "what is done stays done, and no coming due time of a rule is skipped",
    "/v1/reminders/{reminder_id}/snooze": "put off until the same time",
    "/v1/workflows/definitions": "the same document is the same version",
    "/v1/workflows/resume-failed": "a run that goes on has not failed",
    "/v1/workflows/runs/{run_id}/cancel": "a run that is to be canceled is to be canceled",
    "/v1/workflows/runs/{run_id}/resume": "409 as long as the run goes on",
    "/v1/workflows/validate": "makes nothing",
}
"""The POST routes without a key, and why a repetition makes nothing twice."""


class Making(NamedTuple):
    """A route that makes something, a request to it, another one, and the table that counts what it makes."""

    path: str
    body: object
    other: object
    counted: str


@pytest.fixture
def account(store: Database) -> Account:
    """A mailbox with a message."""
    account = make_account(store)
    store_message(store, account)
    return account


@pytest.fixture
def owner(store: Database, door: str, account: Account) -> Client:
    """An operator's key of the mailbox's org."""
    return client_of(store, door, account.org_id, Role.OPERATOR)


def a_job(_account: Account, _store: Database, _database: Connection) -> Making:
    job = {"job_type": "probe_jobs.noop", "payload": {}}
    return Making("/v1/jobs", job, job | {"priority": 1}, "jobs")


def a_retry(account: Account, store: Database, _database: Connection) -> Making:
    ended = enqueue_one(store, account.org_id, probe_jobs.noop.name)
    with store.ledger() as tx:
        ledger.cancel(tx, [ended], "not needed", by=Origin())
    return Making(f"/v1/jobs/{ended}/retry", {"reason": "mended"}, {"reason": "why not"}, "jobs")


def a_replay(account: Account, store: Database, _database: Connection) -> Making:
    job = claim_one(store, enqueue_one(store, account.org_id, probe_jobs.noop.name))
    with store.ledger() as tx:
        died = Settlement(job.job_id, job.token, State.DEAD, error={"code": "bug", "reason": "made"})
        assert not ledger.settle(tx, [died]).refused
    return Making(f"/v1/dead-letters/{job.job_id}/replay", {"reason": "mended"}, {"reason": "why not"}, "jobs")


def a_mend(account: Account, store: Database, _database: Connection) -> Making:
    ended = enqueue_one(store, account.org_id, probe_jobs.noop.name)
    with store.ledger() as tx:
        ledger.cancel(tx, [ended], "not needed", by=Origin())
    return Making(f"/v1/jobs/{ended}/mend", {"payload": {}}, {"payload": {}, "reason": "mended"}, "jobs")


def a_bulk_action(_account: Account, _store: Database, _database: Connection) -> Making:
    asked = {"verb": "cancel", "job_type": [probe_jobs.noop.name], "reason": "not needed"}
    return Making("/v1/bulk-actions", asked, asked | {"reason": "another"}, "bulk_actions")


def a_renewal(account: Account, _store: Database, _database: Connection) -> Making:
    return Making(f"/v1/accounts/{account.account_id}/renew-watch", None, {"reason": "x"}, "jobs")


def a_run_of_a_schedule(account: Account, store: Database, _database: Connection) -> Making:
    work = RequestedJob(probe_jobs.noop.name, {}, 1)
    with store.ledger() as tx:
        schedules.add(tx, account.org_id, "nightly", work, Timetable("0 3 * * *", "UTC", Missed.SKIP), by=Origin())
    return Making("/v1/schedules/nightly/run", None, {"reason": "x"}, "jobs")


def an_action(account: Account, _store: Database, _database: Connection) -> Making:
    asked = {"account_id": str(account.account_id), "message_id": "m1", "action": {"kind": "archive"}}
    return Making("/v1/actions", asked, asked | {"action": {"kind": "star"}}, "actions")


def an_undo(account: Account, store: Database, _database: Connection) -> Making:
    checked = SafetyEnforcer(SafetyPolicy()).check_request(parse_action({"kind": "archive"}))
    job_id = uuid4()
    with store.tenant(account.org_id) as tx:
        made = actions.request(tx, account.account_id, "m1", checked, requested_by="a test")
        assert actions.begin(tx, made, job_id)
        actions.finish(tx, made, job_id, hint_for(Archive(), {"INBOX"}, set()))
    return Making(f"/v1/actions/{made}/undo", None, {"reason": "x"}, "jobs")


def a_rule(account: Account, _store: Database, _database: Connection) -> Making:
    return Making(f"/v1/rules?account_id={account.account_id}", RULE, RULE | {"name": "Dinner"}, "rules")


def a_direction(_account: Account, _store: Database, _database: Connection) -> Making:
    return Making("/v1/directions", DIRECTION, {"content": "Be long."}, "rules")


def a_mail(_account: Account, _store: Database, _database: Connection) -> Making:
    mail = {"to": "ada@example.org", "subject": "Hello", "text": "At noon."}
    return Making("/v1/email", mail, mail | {"text": "At one."}, "email_orders")


def a_reminder(account: Account, _store: Database, _database: Connection) -> Making:
    body = {"user_id": str(account.user_id), "title": "Call the garage", "at": "2036-01-07T09:00"}
    return Making(path="/v1/reminders", body=body, other=body | {"title": "Pay the garage"}, counted="reminders")


def a_project(_account: Account, _store: Database, _database: Connection) -> Making:
    return Making("/v1/projects", {"name": "Festival"}, {"name": "Fair"}, "projects")


def in_a_project(path: str, body: dict[str, object], counted: str) -> Callable[[Account, Database, Connection], Making]:
    """A route of a project that has a person and a run sheet."""

    def making(account: Account, _store: Database, database: Connection) -> Making:
        ids = fill_project(database, account.org_id)
        return Making(path.format(**ids), body, _another(body), counted)

    return making


def an_export(account: Account, _store: Database, database: Connection) -> Making:
    path = "/v1/projects/{project}/exports".format(**fill_project(database, account.org_id))
    return Making(path, {"format": "csv"}, {"format": "csv", "zone": "Europe/Berlin"}, "jobs")


def an_import(account: Account, _store: Database, database: Connection) -> Making:
    ids = fill_project(database, account.org_id)
    ((artifact_id,),) = database.execute("select id from artifacts where project_id = %s", (ids["project"],)).fetchall()
    database.execute("update artifacts set expires_at = now() + interval '1 day'")
    body = {"artifact_id": str(artifact_id), "collaborator_id": str(ids["person"]), "format": "icalendar"}
    return Making(f"/v1/projects/{ids['project']}/imports", body, body | {"dry_run": True}, "jobs")


def a_run(account: Account, store: Database, _database: Connection) -> Making:
    save_workflow(store, account.org_id, BRIEF)
    body: dict[str, object] = {"workflow": "morning-brief"}
    return Making("/v1/workflows/runs", body, body | {"version": 1}, "jobs")


def a_sync(account: Account, _store: Database, _database: Connection) -> Making:
    return Making(f"/v1/accounts/{account.account_id}/sync", {}, {"force_full": True}, "jobs")


def a_second_decision(account: Account, _store: Database, _database: Connection) -> Making:
    return Making(f"/v1/accounts/{account.account_id}/messages/m1/reclassify", None, {"reason": "x"}, "jobs")


def an_event(account: Account, store: Database, _database: Connection) -> Making:
    document = {"name": "waits", "nodes": {"go": {"wait": {"event": "go"}}}}
    path = f"/v1/workflows/runs/{begin_run(store, account.org_id, document)}/events/go"
    return Making(path, {"payload": {"n": 1}}, {"payload": {"n": 2}}, "workflow_events")


def _another(body: dict[str, object]) -> dict[str, object]:
    return body | ({"name": "another"} if "name" in body else {"kind": "busy"})


HOUR: dict[str, object] = {"starts_at": "2026-05-01T08:00:00Z", "ends_at": "2026-05-01T09:00:00Z"}
OF_PROJECT = "/v1/projects/{project}"
MAKING: Mapping[str, Callable[[Account, Database, Connection], Making]] = {
    "/v1/accounts/{account_id}/sync": a_sync,
    "/v1/accounts/{account_id}/messages/{message_id}/reclassify": a_second_decision,
    "/v1/accounts/{account_id}/renew-watch": a_renewal,
    "/v1/actions": an_action,
    "/v1/actions/{action_id}/undo": an_undo,
    "/v1/dead-letters/{letter_id}/replay": a_replay,
    "/v1/bulk-actions": a_bulk_action,
    "/v1/directions": a_direction,
    "/v1/email": a_mail,
    "/v1/jobs": a_job,
    "/v1/jobs/{job_id}/mend": a_mend,
    "/v1/jobs/{job_id}/retry": a_retry,
    "/v1/reminders": a_reminder,
    "/v1/projects": a_project,
    "/v1/projects/{project_id}/collaborators": in_a_project(
        f"{OF_PROJECT}/collaborators", {"name": "Ben", "skills": ["sound"]}, "collaborators"
    ),
    "/v1/projects/{project_id}/collaborators/{collaborator_id}/availabilities": in_a_project(
        f"{OF_PROJECT}/collaborators/{{person}}/availabilities", HOUR | {"kind": "preferred"}, "availabilities"
    ),
    "/v1/projects/{project_id}/exports": an_export,
    "/v1/projects/{project_id}/imports": an_import,
    "/v1/projects/{project_id}/places": in_a_project(f"{OF_PROJECT}/places", {"name": "Stage 2"}, "places"),
    "/v1/projects/{project_id}/run-sheets": in_a_project(f"{OF_PROJECT}/run-sheets", {"name": "Sunday"}, "run_sheets"),
    "/v1/projects/{project_id}/run-sheets/{run_sheet_id}/slots": in_a_project(
        f"{OF_PROJECT}/run-sheets/{{sheet}}/slots", HOUR | {"name": "Show"}, "slots"
    ),
    "/v1/rules": a_rule,
    "/v1/schedules/{name}/run": a_run_of_a_schedule,
    "/v1/workflows/runs": a_run,
    "/v1/workflows/runs/{run_id}/events/{name}": an_event,
}


@pytest.fixture(params=sorted(MAKING))
def making(request: pytest.FixtureRequest, account: Account, store: Database, database: Connection) -> Making:
    return MAKING[request.param](account, store, database)


def count(database: Connection, table: str) -> int:
    row = database.execute(f"select count(*) from {table}").fetchone()
    assert row is not None
    return int(row[0])


def test_every_post_route_takes_a_key_or_is_harmless_twice(client: Client) -> None:
    described: dict[str, Any] = ask(f"{client.url}/v1/openapi.json").json["paths"]
    posts = {path: item["post"] for path, item in described.items() if "post" in item}
    keyed = {
        path
        for path, post in posts.items()
        if any(one["name"] == "idempotency-key" for one in post.get("parameters", ()))
    }
    assert keyed == set(MAKING)
    assert set(posts) - keyed == set(HARMLESS)
    for path in keyed:
        assert {"200", "422"} <= set(posts[path]["responses"]), path


def test_the_same_request_makes_one_thing(owner: Client, making: Making, database: Connection) -> None:
    before = count(database, making.counted)
    first, again = (owner.post(making.path, making.body, KEY) for _ in range(2))
    assert first.status in {201, 202}, first.body
    assert (again.status, again.headers["idempotent-replayed"]) == (200, "true"), again.body
    assert "idempotent-replayed" not in first.headers
    flags = {"created", "replayed"}
    assert {k: v for k, v in again.json.items() if k not in flags} == {
        k: v for k, v in first.json.items() if k not in flags
    }
    assert again.headers.get("location") == first.headers.get("location")
    assert count(database, making.counted) == before + 1


def test_another_request_with_the_key_is_refused(owner: Client, making: Making, database: Connection) -> None:
    assert owner.post(making.path, making.body, KEY).status in {201, 202}
    made = count(database, making.counted)
    elsewhere = "/v1/jobs" if making.path != "/v1/jobs" else "/v1/directions"
    body = DIRECTION if elsewhere == "/v1/directions" else {"job_type": "probe_jobs.noop", "payload": {}}
    for answer in (owner.post(making.path, making.other, KEY), owner.post(elsewhere, body, KEY)):
        assert (answer.status, answer.json["field"]) == (422, "idempotency_key"), answer.body
        assert answer.json["reason"] == "belongs to another request, which asked for something else"
    assert count(database, making.counted) == made


def test_a_refused_request_leaves_its_key_free(owner: Client, database: Connection) -> None:
    path = f"/v1/rules?account_id={uuid4()}"
    assert owner.post(path, RULE, KEY).status == 404
    assert owner.post("/v1/rules", RULE | {"when": {}}, KEY).status == 422
    assert owner.post("/v1/rules", RULE, KEY).status == 201
    assert count(database, "rules") == 1


def test_the_query_is_part_of_the_request(owner: Client, account: Account) -> None:
    assert owner.post("/v1/rules", RULE, KEY).status == 201
    narrower = owner.post(f"/v1/rules?account_id={account.account_id}", RULE, KEY)
    assert (narrower.status, narrower.json["field"]) == (422, "idempotency_key")


def test_what_was_accepted_once_is_answered_though_its_label_has_vanished(
    owner: Client, account: Account, database: Connection
) -> None:
    database.execute(
        "insert into labels (org_id, account_id, gmail_label_id, name, kind)"
        " values (%s, %s, 'Label_1', 'Food', 'user')",
        (account.org_id, account.account_id),
    )
    path = f"/v1/rules?account_id={account.account_id}"
    rule = RULE | {"then": {"actions": [{"apply_label": "Food"}]}}
    first = owner.post(path, rule, KEY)
    assert first.status == 201, first.body
    database.execute("delete from labels")
    again = owner.post(path, rule, KEY)
    assert (again.status, again.json) == (200, first.json)


def test_requests_at_once_make_one_rule(owner: Client, database: Connection) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: owner.post("/v1/rules", RULE, KEY), range(8)))
    assert sorted(answer.status for answer in answers) == [200] * 7 + [201]
    assert count(database, "rules") == 1


def test_two_orgs_may_use_the_same_key(owner: Client, stranger: Client) -> None:
    answers = [one.post("/v1/directions", DIRECTION, KEY) for one in (owner, stranger)]
    assert [one.status for one in answers] == [201, 201]
    assert answers[0].json["direction_id"] != answers[1].json["direction_id"]


FORWARD: dict[str, object] = {"kind": "forward", "to": ["ben@example.org"]}


def test_a_key_whose_time_is_over_may_ask_for_another_action(
    owner: Client, account: Account, database: Connection
) -> None:
    asked = {"account_id": str(account.account_id), "message_id": "m1", "action": FORWARD}
    first = owner.post("/v1/actions", asked, KEY)
    database.execute("update api_requests set expires_at = now() - interval '1 second'")
    database.execute("update actions set created_at = now() - interval '31 days'")
    later = owner.post("/v1/actions", asked | {"action": {"kind": "archive"}}, KEY)
    assert (first.status, later.status) == (201, 201), later.body
    assert count(database, "actions") == 2


def test_a_key_is_the_same_in_a_header_and_in_a_body_whatever_its_letters(client: Client) -> None:
    """HTTP's servers read a header as Latin-1; clients send UTF-8."""
    document = {"job_type": "probe_jobs.ending", "payload": {}}
    header = {"Idempotency-Key": "заказ ü 7".encode().decode("latin-1")}
    first = client.post("/v1/jobs", document, header)
    assert first.status == 201, first.body
    same = client.post("/v1/jobs", {**document, "idempotency_key": "заказ ü 7"})
    both = client.post("/v1/jobs", {**document, "idempotency_key": "заказ ü 7"}, header)
    assert [(one.status, one.json["job_id"]) for one in (same, both)] == [(200, first.json["job_id"])] * 2
    odd = client.post("/v1/jobs", document, {"Idempotency-Key": "\xff\xfe"})
    assert (odd.status, odd.json["field"]) == (422, "idempotency-key")
