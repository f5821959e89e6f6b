"""The words that the database allows are the domain's, no more and no fewer."""

import re
from enum import StrEnum

from psycopg import Connection

from domain.mail.actions.kinds import ActionKind, Danger
from domain.mail.actions.status import ActionStatus
from domain.mail.correspondence import MOST_REWORKS, EmailState, LabelRole
from domain.mail.triage.automation_signals import AutomationKind, Weight
from domain.mail.triage.classification import Classification, DecisionSource
from domain.mail.triage.prompts import RuleScope


def words(database: Connection, table: str, column: str) -> set[str]:
    rows = database.execute(
        "select pg_get_constraintdef(c.oid) from pg_attribute a join pg_constraint c"
        " on c.contypid = a.atttypid or (c.conrelid = a.attrelid and c.conkey = array[a.attnum])"
        " where c.contype = 'c' and a.attrelid = %s::regclass and a.attname = %s",
        (table, column),
    ).fetchall()
    return {word for row in rows if " ANY " in row[0] for word in re.findall(r"'([^']*)'::text", row[0])}


COLUMNS: tuple[tuple[str, str, type[StrEnum]], ...] = (
    ("emails", "state", EmailState),
    ("emails", "classification", Classification),
    ("emails", "decision_source", DecisionSource),
    ("decisions", "classification", Classification),
    ("decisions", "source", DecisionSource),
    ("messages", "automation_kind", AutomationKind),
    ("messages", "automation_weight", Weight),
    ("actions", "kind", ActionKind),
    ("actions", "danger", Danger),
    ("actions", "state", ActionStatus),
    ("rules", "scope", RuleScope),
)


def test_a_column_allows_what_the_domain_says(database: Connection) -> None:
    for table, column, kind in COLUMNS:
        assert words(database, table, column) == {str(one) for one in kind}, (table, column)


def test_roles_are_stored_by_name(database: Connection) -> None:
    assert words(database, "labels", "role") == {role.name.lower() for role in LabelRole}


def test_the_limit_of_reworks_is_the_domains(database: Connection) -> None:
    row = database.execute(
        "select pg_get_constraintdef(oid) from pg_constraint where conname = 'emails_rework_count_check'"
    ).fetchone()
    assert row is not None
    assert f"<= {MOST_REWORKS})" in row[0]
