"""Every operation has its page; forms keep what was typed, say what will happen, and lead to what they made."""

from http import HTTPStatus
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.orgs.access.operators import OperatorRole
from gateway.console.derived import NOT_TYPED
from gateway.console.frame import FRAME_FIELDS
from operations.areas import areas
from operations.operation import Operation
from tests.doubles.factories import make_org
from tests.gateway.console.conftest import SignIn
from tests.gateway.console.signed import SignedBrowser

OURS = FRAME_FIELDS | NOT_TYPED
OPERATIONS = [one for area in areas() for one in area.operations]


def path_of(operation: Operation[..., Any], org: UUID) -> str:
    """The page of an operation about something that is not there."""
    given = "&".join(f"{name}={uuid4()}" for name in operation.positional if name.endswith("_id"))
    return f"/{operation.area}/{operation.command}?of_org={org}&{given}".rstrip("&")


def test_every_operation_has_a_page_for_an_admin(admin: SignedBrowser, org: UUID) -> None:
    troubles = {
        path: answer.body[-600:]
        for one in OPERATIONS
        if (answer := admin.get(path := path_of(one, org))).status not in {200, 404, 422}
        or b"</html>" not in answer.body
    }
    assert troubles == {}


@pytest.mark.parametrize("role", list(OperatorRole))
def test_a_page_is_there_for_whoever_may_call_the_operation_and_in_no_navigation_of_others(
    sign_in: SignIn, org: UUID, role: OperatorRole
) -> None:
    browser = sign_in(role)
    for one in OPERATIONS:
        may = role.includes(one.least)
        assert (browser.get(path_of(one, org)).status == HTTPStatus.FORBIDDEN) is not may, one.name


def test_an_operator_of_some_orgs_finds_nothing_of_another(sign_in: SignIn, org: UUID, database: Connection) -> None:
    other = make_org(database, "the others")
    browser = sign_in(OperatorRole.OPERATOR, org)
    assert "the others" not in browser.text("/reminders")
    for one in OPERATIONS:
        answer = browser.get(path_of(one, other))
        assert answer.status == HTTPStatus.FORBIDDEN, one.name


def test_no_parameter_has_the_name_of_a_field_that_every_page_has() -> None:
    taken = {one.name: taken for one in OPERATIONS if (taken := OURS & set(one.parameters.model_fields))}
    assert taken == {}


def test_a_deed_is_typed_and_confirmed_and_what_was_typed_is_kept_where_it_is_refused(
    admin: SignedBrowser, org: UUID, database: Connection
) -> None:
    typed = {"of_org": str(org), "name": "nightly", "job_type": "<b>odd", "cron": "5 2 * * *"}
    asked = admin.post("/schedules/add", typed)
    assert (asked.status, b"What will happen" in asked.body, b"schedule.added" in asked.body) == (200, True, True)
    refused = admin.post("/schedules/add", typed | {"confirmed": "yes"})
    assert (refused.status, b'id="field-job_type-trouble"' in refused.body) == (422, True)
    assert b'value="&lt;b&gt;odd"' in refused.body
    assert b'value="5 2 * * *"' in refused.body
    assert database.execute("select count(*) from schedules").fetchone() == (0,)
    out_of_bounds = admin.post("/orgs/add", {"name": "acme", "weight": "101"})
    assert (out_of_bounds.status, b'id="field-weight-trouble"' in out_of_bounds.body) == (422, True)


def test_an_org_is_made_and_shown(admin: SignedBrowser, database: Connection) -> None:
    typed = {"name": "acme", "weight": "3", "confirmed": "yes"}
    done = admin.post("/orgs/add", typed)
    assert done.status in {200, 303}
    assert database.execute("select weight from orgs where name = 'acme'").fetchone() == (3,)
    assert "acme" in admin.text("/orgs")


def test_the_page_of_what_an_org_does_not_have_yet_offers_to_make_it(admin: SignedBrowser, org: UUID) -> None:
    answer = admin.get(f"/senders?of_org={org}")
    assert answer.status == HTTPStatus.OK
    assert "/console/senders/set?" in answer.body.decode()
    assert admin.get(f"/jobs/show?job_id={org}").status == HTTPStatus.NOT_FOUND


def test_an_operator_of_an_org_sets_neither_its_share_nor_a_schedule_of_the_fleet_s_jobs(
    sign_in: SignIn, org: UUID, database: Connection
) -> None:
    browser = sign_in(OperatorRole.OPERATOR, org)
    schedule = {"name": "x", "cron": "* * * * *", "job_type": "bulk_actions.run", "payload": f'{{"bulk_id": "{org}"}}'}
    for path, fields in (("/orgs/set", {"weight": 100}), ("/schedules/add", schedule)):
        answer = browser.post(path, {"confirmed": "yes", "of_org": org, **fields})
        assert answer.status in {403, 422}, answer.body
    assert database.execute("select weight from orgs where id = %s", (org,)).fetchone() == (1,)
    assert database.execute("select count(*) from schedules where org_id = %s", (org,)).fetchone() == (0,)
