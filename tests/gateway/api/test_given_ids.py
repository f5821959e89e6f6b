"""An id that an answer gives out finds its thing at once, by the thing's own route or list, before any job has run."""

from collections.abc import Mapping

import pytest
from psycopg import Connection

from domain.orgs.access.api_keys import Role
from storage.mail.accounts.accounts import Account
from storage.postgres.database import Database
from tests.gateway.api.conftest import client_of
from tests.gateway.api.test_repeated_requests import MAKING, account

__all__ = ["account"]

JOB = ("job_id", "/v1/jobs/{id}")
PEOPLE = "/v1/projects/{project_id}/collaborators"
SHEETS = "/v1/projects/{project_id}/run-sheets"

LOOKS: Mapping[str, tuple[str, str]] = {
    "/v1/accounts/{account_id}/messages/{message_id}/reclassify": JOB,
    "/v1/accounts/{account_id}/sync": JOB,
    "/v1/actions": ("action_id", "/v1/actions/{id}"),
    "/v1/actions/{action_id}/undo": JOB,
    "/v1/dead-letters/{letter_id}/replay": JOB,
    "/v1/directions": ("direction_id", "/v1/directions"),
    "/v1/email": ("order_id", "/v1/email/{id}"),
    "/v1/jobs": JOB,
    "/v1/jobs/{job_id}/retry": JOB,
    "/v1/projects": ("project_id", "/v1/projects/{id}"),
    PEOPLE: ("collaborator_id", "."),
    f"{PEOPLE}/{{collaborator_id}}/availabilities": ("availability_id", "."),
    "/v1/projects/{project_id}/exports": JOB,
    "/v1/projects/{project_id}/imports": JOB,
    "/v1/projects/{project_id}/places": ("place_id", "."),
    SHEETS: ("run_sheet_id", "./{id}"),
    f"{SHEETS}/{{run_sheet_id}}/slots": ("slot_id", "."),
    "/v1/accounts/{account_id}/renew-watch": JOB,
    "/v1/bulk-actions": ("bulk_id", "./{id}"),
    "/v1/jobs/{job_id}/mend": JOB,
    "/v1/schedules/{name}/run": JOB,
    "/v1/reminders": ("reminder_id", "/v1/reminders/{id}"),
    "/v1/rules": ("rule_id", "/v1/rules/{id}"),
    "/v1/workflows/runs": ("run_id", "/v1/workflows/runs/{id}"),
    "/v1/workflows/runs/{run_id}/events/{name}": ("event_id", "./.."),
}
"""By route that makes something: the field of the answer with its id, and where it is found; `.` is the same path."""


def test_each_route_that_makes_something_says_where_it_is_found() -> None:
    assert set(LOOKS) == set(MAKING)


@pytest.mark.parametrize("route", sorted(LOOKS))
def test_an_id_of_an_answer_finds_its_thing_at_once(
    route: str, account: Account, store: Database, database: Connection, door: str
) -> None:
    owner = client_of(store, door, account.org_id, Role.OPERATOR)
    made = MAKING[route](account, store, database)
    answer = owner.post(made.path, made.body)
    assert answer.status in {200, 201, 202}, answer.body
    field, look = LOOKS[route]
    given = answer.json["rules"][0][field] if route == "/v1/rules" else answer.json[field]
    above = made.path.rpartition("/")[0]
    path = look.replace("./..", above).replace("./", f"{made.path}/").format(id=given)
    found = owner.get(made.path if path == "." else path)
    assert (found.status, given in str(found.body)) == (200, True), found.body
    if "location" in answer.headers:
        assert owner.get(answer.headers["location"]).status == 200
