"""Operators are added, changed and let go at the terminal, and each deed is audited without an address."""

from collections.abc import Sequence
from typing import Any

import pytest
from psycopg import Connection

from commands.operations import AREAS
from commands.people_checks import console_check
from domain.jobs.failures import Conflict
from domain.orgs.access.operators import OperatorRole
from engine.runtime import Runtime
from operations.orgs.operators import add_operator, set_operator
from settings import Settings
from storage.orgs.access import operators
from storage.postgres.database import Database, Transaction
from storage.postgres.execution import Row
from tests.commands.calling import answer, call, refusal
from tests.doubles.calls import call_by
from tests.doubles.factories import make_org

OPERATORS = AREAS.operators
ADA, BOB = "ada@example.org", "bob@example.org"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"public_url": "https://mail.example.org"})


def audited(database: Connection) -> list[tuple[str, dict[str, Any]]]:
    rows = database.execute(
        "select event, data from audit_entries where event like 'operator.%' order by id"
    ).fetchall()
    assert not any("@" in str(row) for row in rows)
    return rows


@pytest.mark.usefixtures("process")
def test_operators_are_added_changed_and_let_go(store: Database, database: Connection) -> None:
    org = make_org(database, "Acme")
    added = answer(OPERATORS, "add", "Ada@Example.org", "--role", "support", "--org", "Acme")
    assert added["email"] == ADA
    address, _, secret = added["link"].partition("?link=")
    assert address == "https://mail.example.org/console/password"
    named = {"operator_id": added["operator_id"]}
    (listed,) = answer(OPERATORS, "list")
    assert (listed["role"], listed["org_ids"], listed["can_sign_in"], listed["has_link"]) == (
        "support", [str(org)], False, True,
    )  # fmt: skip
    assert answer(OPERATORS, "set", ADA, "--role", "operator")["org_ids"] == [str(org)]
    assert answer(OPERATORS, "set", ADA, "--all-orgs")["org_ids"] is None
    anew = answer(OPERATORS, "reset-link", ADA)["link"].partition("?link=")[2]
    with store.ledger() as tx:
        assert operators.by_link(tx, secret) is None
        found = operators.use_link(tx, anew, "$argon2id$made-up")
        assert found is not None
        assert operators.begin_session(tx, found, "$argon2id$the password before") is None
        assert operators.begin_session(tx, found, "$argon2id$made-up")
    (session,) = answer(OPERATORS, "sessions", "--email", ADA)
    assert answer(OPERATORS, "end-session", session["session_id"])["ended"] == 1
    assert answer(OPERATORS, "end-sessions", ADA)["ended"] == 0
    assert answer(OPERATORS, "deactivate", ADA)["deactivated_at"] is not None
    assert "deactivated" in refusal(OPERATORS, "reset-link", ADA)
    assert "deactivated" in refusal(OPERATORS, "set", ADA, "--role", "admin")
    assert answer(OPERATORS, "remove", ADA)["email"] == ADA
    assert answer(OPERATORS, "list") == []
    scoped = {"org_ids": [str(org)]}
    assert audited(database) == [
        ("operator.added", named | {"role": "support"} | scoped),
        ("operator.changed", named | {"role": "operator"} | scoped),
        ("operator.changed", named | {"role": "operator", "org_ids": None}),
        ("operator.link_made", named),
        ("operator.session_ended", named | {"session_id": session["session_id"]}),
        ("operator.sessions_ended", named | {"ended": 0}),
        ("operator.deactivated", named),
        ("operator.removed", named),
    ]


@pytest.mark.usefixtures("process")
def test_what_makes_no_sense_is_refused_by_its_field(database: Connection) -> None:
    answer(OPERATORS, "add", ADA, "--role", "admin")
    for words, why in (
        (("add", ADA, "--role", "viewer"), "an operator already"),
        (("add", "nobody", "--role", "viewer"), "email: "),
        (("add", BOB, "--role", "viewer", "--org", "Nowhere"), "Nowhere"),
        (("set", ADA), "role: nothing to change is given"),
        (("set", ADA, "--all-orgs", "--org", "system"), "orgs: "),
        (("show", BOB), "no operator of that address"),
        (("end-session", "0197a5d2-0000-7000-8000-00000000002a"), "no session"),
    ):
        assert why in refusal(OPERATORS, *words), words
    assert call(OPERATORS, "add", BOB, "--role", "god").exit_code == 2
    assert [event for event, _ in audited(database)] == ["operator.added"]


def test_a_link_is_not_made_where_it_would_lead_nowhere(database: Connection, store: Database) -> None:
    with pytest.raises(Conflict, match="POSTROOM_PUBLIC_URL"):
        add_operator(call_by("ada", store), ADA, role=OperatorRole.ADMIN)
    assert database.execute("select count(*) from operators").fetchone() == (0,)


def test_a_lost_sole_admin_is_mended_at_the_terminal_and_doctor_says_who_may_come(process: Runtime) -> None:
    assert "operators add" in console_check(process).finding
    answer(OPERATORS, "add", ADA, "--role", "admin")
    assert console_check(process).finding == "operators can sign in"
    answer(OPERATORS, "set", ADA, "--role", OperatorRole.VIEWER.value)
    assert answer(OPERATORS, "set", ADA, "--role", "admin")["role"] == "admin"
    answer(OPERATORS, "deactivate", ADA)
    assert "operators add" in console_check(process).finding


def test_a_change_of_the_role_keeps_a_scope_that_was_given_meanwhile(store: Database, database: Connection) -> None:
    """The scope is narrowed between the deed's look at the operator and its change."""
    org = make_org(database, "Acme")

    class Meanwhile(Transaction):
        def run(self, name: str, /, **parameters: object) -> Sequence[Row]:
            if name == "change_operator":
                database.execute("update operators set org_ids = %s", ([org],))
            return super().run(name, **parameters)

    with store.ledger() as tx:
        operators.add(tx, ADA, OperatorRole.VIEWER, None, by="operator:test")
    caller = call_by("operator:admin", store)
    with store.ledger() as tx:
        caller.within = Meanwhile(tx._connection)  # noqa: SLF001 - the same transaction, beside which something happens
        assert set_operator(caller, ADA, role=OperatorRole.SUPPORT).org_ids == [org]
    assert audited(database)[-1][1]["org_ids"] == [str(org)]
