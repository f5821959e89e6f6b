"""Operators see what orgs spend and give one more; the audit log has it."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from psycopg import Connection

from commands.operations import AREAS
from tests.commands.calling import answer, call, refusal
from tests.doubles.factories import make_org

pytestmark = pytest.mark.usefixtures("process")


def test_an_org_gets_a_budget_of_its_own_and_the_installations_again(org: UUID, database: Connection) -> None:
    made = answer(AREAS.budgets, "set", "an org", "--cents", "12.5", "--as", "ada")
    assert (made["daily_microcents"], made["own"], made["left_microcents"]) == (12_500_000, True, 12_500_000)
    assert made["org_id"] == str(org)
    again = answer(AREAS.budgets, "set", org, "--default", "--as", "ada")
    assert (again["daily_microcents"], again["own"]) == (1_000_000_000, False)
    audited = database.execute("select event, org_id, actor_id, data from audit_log order by id").fetchall()
    assert audited == [
        ("budget.set", org, "operator:ada", {"daily_microcents": 12_500_000}),
        ("budget.set", org, "operator:ada", {"daily_microcents": None}),
    ]


def test_the_list_shows_today_and_who_is_parked(org: UUID, database: Connection) -> None:
    database.execute(
        "insert into budget_days (org_id, day, spent_microcents, reserved_microcents, exhausted_at)"
        " values (%s, (now() at time zone 'UTC')::date, 700, 50, now()),"
        " (%s, (now() at time zone 'UTC')::date - 1, 9000, 0, null)",
        (org, org),
    )
    database.execute(
        "insert into gates (scope, key, reason, until, actor, cause)"
        " values ('org_provider', %s, 'spent', '2100-01-01T00:00:00Z', 'postroom', 'budget')",
        (f"{org}:anthropic",),
    )
    first = answer(AREAS.budgets, "list")[0]
    assert (first["name"], first["spent_microcents"], first["reserved_microcents"]) == ("an org", 700, 50)
    assert first["left_microcents"] == 1_000_000_000 - 750
    assert datetime.fromisoformat(first["parked_until"]) == datetime(2100, 1, 1, tzinfo=UTC)
    assert first["exhausted_at"] is not None
    assert [row["org_id"] for row in answer(AREAS.budgets, "list", "--org", "an org")] == [str(org)]
    assert "an org" in call(AREAS.budgets, "list").output
    other = make_org(database, "another org")
    shown = call(AREAS.budgets, "list", "--limit", 1)
    rest = [row["org_id"] for row in answer(AREAS.budgets, "list", "--cursor", shown.stderr.split()[-1])]
    assert str(other) in rest
    assert str(org) not in rest
    answer(AREAS.budgets, "set", org, "--cents", 1)
    assert answer(AREAS.budgets, "list", "--org", org)[0]["parked_until"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("set", "an org"), "cents: give either an amount or --default"),
        (("set", "an org", "--cents", "1", "--default"), "cents: give either an amount or --default"),
        (("set", "an org", "--cents", "much"), "cents: "),
        (("set", "an org", "--cents", "-1"), "cents: "),
        (("set", "an org", "--cents", "NaN"), "cents: "),
        (("set", "nobody", "--cents", "1"), "there is no org nobody"),
        (("list", "--org", "nobody"), "there is no org nobody"),
    ],
)
def test_an_order_that_cannot_be_meant_is_refused(org: UUID, arguments: tuple[str, ...], words: str) -> None:
    assert org
    assert words in refusal(AREAS.budgets, *arguments)
