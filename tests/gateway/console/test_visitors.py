"""Which form is one of ours, what a role and a scope allow, and that the database refuses the rest."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection
from psycopg.types.json import Jsonb

from domain.orgs.access.operators import PROVE, OperatorRole
from operations.operation import Operation, OperatorsOnly
from storage.postgres.database import Database
from tests.doubles.factories import make_org
from tests.gateway.console.conftest import ADA
from tests.gateway.console.people import OPERATIONS, OURS, PUBLIC, Browser, add_operator

WRITE = "/console/write"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (OURS, 200),
        ({"Origin": PUBLIC}, 200),
        ({**OURS, "Origin": "https://evil.example.org"}, 200),
        ({}, 403),
        ({"Origin": "https://evil.example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": f"{PUBLIC}.evil.example.org"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": PUBLIC}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
    ],
)
def test_a_form_of_another_site_changes_nothing(ada: Browser, headers: Mapping[str, str], status: int) -> None:
    assert ada.post(WRITE, {"token": ada.token}, headers).status_code == status


def test_a_form_without_the_token_of_its_session_changes_nothing(
    store: Database, ada: Browser, open_browser: Callable[[], Browser]
) -> None:
    other = open_browser()
    other.use(add_operator(store, "bob@example.org"))
    mine = ada.token
    assert mine != other.token
    for token in ("", "x", other.token, mine[:-1], "ü"):
        assert ada.post(WRITE, {"token": token}).status_code == 403
    assert ada.post(WRITE, {}).status_code == 403
    assert ada.post(WRITE, {"token": mine}).status_code == 200


def test_the_password_once_more_changes_cookie_and_token_and_keeps_the_end(ada: Browser, database: Connection) -> None:
    database.execute("update operator_sessions set proved_at = now() - interval '1 hour'")
    cookie, token = ada.cookie, ada.token
    assert ada.prove("a wrong password").status_code == 403
    assert ada.cookie == cookie
    assert ada.prove(next="/console/operators").headers["location"] == "/console/operators"
    assert ada.cookie != cookie
    assert ada.token != token
    assert ada.post(WRITE, {"token": token}).status_code == 403
    row = database.execute("select proved_at > now() - interval '1 minute', count(*) over () from operator_sessions")
    assert row.fetchall() == [(True, 1)]


@pytest.mark.parametrize(("minutes", "is_done"), [(9, True), (11, False)])
def test_what_takes_an_admin_takes_the_password_lately(
    ada: Browser, database: Connection, minutes: int, is_done: bool
) -> None:
    database.execute(f"update operator_sessions set proved_at = now() - interval '{minutes} minutes'")
    asked = ada.do("add_operator", email="bob@example.org", role="viewer")
    assert (asked.status_code == 200) is is_done
    if not is_done:
        assert (asked.status_code, asked.headers["location"]) == (303, PROVE)
    there = database.execute("select count(*) from operators where email = 'bob@example.org'").fetchone()
    assert there == (int(is_done),)
    assert ada.do("list_operators").status_code == 200


def test_the_gate_of_the_fleet_takes_an_admin(
    store: Database, ada: Browser, open_browser: Callable[[], Browser]
) -> None:
    bob = open_browser()
    bob.use(add_operator(store, "bob@example.org", OperatorRole.OPERATOR))
    fleet: dict[str, Any] = {"scope": "fleet", "key": "*", "reason": "a test"}
    assert bob.do("close_gate", **fleet).status_code == 403
    assert bob.do("close_gate", scope="queue", key="mail", reason="a test").status_code in {200, 422}
    assert ada.do("close_gate", **fleet).status_code == 200
    assert bob.do("open_gate", scope="fleet", key="*").status_code == 403
    assert ada.do("open_gate", scope="fleet", key="*").status_code == 200


def test_nobody_changes_themselves(ada: Browser) -> None:
    assert ada.do("set_operator", email=ADA, role="viewer").status_code == 409
    assert ada.do("deactivate_operator", email=ADA).status_code == 409
    assert ada.do("remove_operator", email=ADA).status_code == 409


def needs_more(operation: Operation[..., Any]) -> bool:
    return any(field.is_required() for field in operation.parameters.model_fields.values())


LISTS = [one for one in OPERATIONS.values() if one.is_paged and not needs_more(one)]


@pytest.mark.parametrize(("role", "is_scoped"), list(product(OperatorRole, (False, True))))
def test_every_list_by_role_and_scope(
    store: Database, database: Connection, browser: Browser, role: OperatorRole, is_scoped: bool
) -> None:
    """A scoped operator reads an org's rows as the tenant, whatever the operation; what is of the fleet is refused."""
    own, other = make_org(database, "own"), make_org(database, "other")
    browser.use(add_operator(store, "bob@example.org", role, [own] if is_scoped else None))
    wrong = []
    for one in LISTS:
        is_of_fleet = isinstance(one.route, OperatorsOnly) and one.org == "never"
        is_allowed = role.includes(one.least) and not (is_scoped and is_of_fleet)
        answer = browser.do(one.name, own)
        if answer.status_code != (200 if is_allowed else 403):
            wrong.append((one.name, answer.status_code, answer.text))
        assert str(other) not in answer.text or (is_of_fleet and not is_scoped), one.name
        if is_scoped:
            assert browser.do(one.name, other).status_code == 403, one.name
    assert wrong == []


def test_the_database_refuses_a_scoped_operator_other_orgs(
    store: Database, database: Connection, browser: Browser
) -> None:
    """Not a condition of the statement: the same transaction finds nothing of the other org, whatever it asks."""
    own, other = make_org(database, "own"), make_org(database, "other")
    for org in (own, other):
        database.execute("insert into users (org_id, email) values (%s, 'ann@example.org')", (org,))
    browser.use(add_operator(store, "bob@example.org", OperatorRole.ADMIN, [own]))
    assert browser.get("/console/orgs-of-users").json() == [str(own)]


SUBJECT = "Zebra crossing"


@pytest.fixture
def schedule(database: Connection) -> UUID:
    """A schedule of an org, whose payload has a customer's words; the org's id."""
    org = make_org(database, "own")
    database.execute(
        "insert into schedules"
        " (org_id, name, job_type, payload, payload_version, cron, zone, missed, next_run_at, created_by)"
        " values (%s, 'daily', 'gmail.sync', %s, 1, '0 9 * * *', 'UTC', 'skip', now() + interval '1 day', 'ada')",
        (org, Jsonb({"subject": SUBJECT, "account_id": str(org)})),
    )
    return org


@pytest.mark.parametrize("role", OperatorRole)
def test_values_are_shapes_until_a_look_at_them_is_audited(
    store: Database, database: Connection, browser: Browser, schedule: UUID, role: OperatorRole
) -> None:
    browser.use(add_operator(store, "bob@example.org", role))
    (shown,) = browser.do("list_schedules", schedule).json()
    assert shown["payload"] == {"subject": "text(14)", "account_id": "uuid"}
    looked = "select org_id, data from audit_entries where event = 'operator.looked'"
    assert database.execute(looked).fetchall() == []
    seen = browser.do("list_schedules", schedule, values=True)
    if role is OperatorRole.VIEWER:
        assert (seen.status_code, SUBJECT in seen.text) == (403, False)
        assert database.execute(looked).fetchall() == []
        return
    assert seen.json()[0]["payload"]["subject"] == SUBJECT
    assert database.execute(looked).fetchall() == [(schedule, {"operation": "list_schedules"})]
    database.execute("update operator_sessions set proved_at = now() - interval '11 minutes'")
    again = browser.do("list_schedules", schedule, values=True)
    assert (again.status_code, SUBJECT in again.text) == (303, False)


def test_no_record_names_values_that_it_does_not_have() -> None:
    for one in OPERATIONS.values():
        for path in one.record.values:
            assert path.partition(".")[0] in one.record.model_fields, (one.name, path)


ERROR = "code and reason of a failure, without a payload"
SET_UP = "what people of the org have set up: it is read to help them"
COUNTED = "numbers and ids"
EXCUSED = {
    "ActionView.error": ERROR,
    "BulkPreview.effects": COUNTED,
    "DeadLetterView.effects": "keys and states, without results",
    "DeadLetterView.error": ERROR,
    "DefinitionView.document": SET_UP,
    "EmailView.error": ERROR,
    "FoundThing.ids": COUNTED,
    "JobTimeline.children": COUNTED,
    "JobTimeline.children_by_state": COUNTED,
    "JobTimeline.dead_letter": "error and plan, without payload and history",
    "JobView.error": ERROR,
    "OrgView.settings": SET_UP,
    "PlaceView.minutes_to": COUNTED,
    "PreviewView.words": "made of examples",
    "ProfileView.definition": SET_UP,
    "ProposalView.choices": COUNTED,
    "ProposalView.points": COUNTED,
    "ProposalView.reasons": COUNTED,
    "ProposalView.weights": COUNTED,
    "RuleView.rule": SET_UP,
    "RunNodeLine.error": ERROR,
    "RunNodeView.error": ERROR,
    "TemplateView.document": SET_UP,
    "VersionView.definition": SET_UP,
    "WorkflowRunLine.failure": ERROR,
    "WorkflowRunView.failure": ERROR,
}
"""Documents that an operator sees as they are, and why."""


def test_each_document_of_a_record_is_masked_or_has_a_reason() -> None:
    open_ones = set()
    for record in {one.record for one in OPERATIONS.values()}:
        masked = {path.partition(".")[0] for path in record.values}
        for name, field in record.model_fields.items():
            if any(word in str(field.annotation) for word in ("dict", "Any")) and name not in masked:
                open_ones.add(f"{record.__name__}.{name}")
    assert open_ones == set(EXCUSED)
