"""No comparison of words goes by the database's locale: Turkish makes another letter of I."""

import re

import pytest
from psycopg import Connection

from storage.postgres.queries import STORAGE

CALLS = re.compile(r"\b(?:lower|upper|initcap)\(")
OF_RANGES = re.compile(r"\A(?:part|export\.to_look_at|(?:\w+\.)?during)\Z")
"""Of a range, `lower` is where it begins."""


def arguments(text: str) -> list[str]:
    """What is given to each function that a locale could change."""
    found = []
    for call in CALLS.finditer(text):
        depth, end = 1, call.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        found.append(text[call.end() : end - 1])
    return found


def without_collation(text: str) -> list[str]:
    return [given for given in arguments(text) if 'collate "' not in given and not OF_RANGES.match(given)]


def test_each_change_of_letters_names_its_rules() -> None:
    found = {path.name: without_collation(path.read_text(encoding="utf-8")) for path in STORAGE.rglob("*.sql")}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    assert sum(len(arguments(path.read_text(encoding="utf-8"))) for path in STORAGE.rglob("*.sql")) > 10


@pytest.mark.parametrize("text", ["where email = lower(%(email)s)", "check (upper(trim(name)) = name)"])
def test_one_that_names_none_would_be_found(text: str) -> None:
    assert len(without_collation(text)) == 1


@pytest.mark.parametrize("name", ["API_KEY", "AUTHORIZATION", "ClientSecret", "SIGNING-KEY", "Credentials"])
def test_a_secrets_name_in_capitals_is_one(database: Connection, name: str) -> None:
    assert database.execute("select postroom.names_secret(%s)", (name,)).fetchone() == (True,)
    carried = database.execute("select postroom.carries_secret(jsonb_build_object(%s::text, 'x'))", (name,)).fetchone()
    assert carried == (name,)


def test_the_checks_of_addresses_fold_letters_by_unicode(database: Connection) -> None:
    query = "select conname, pg_get_constraintdef(oid) from pg_constraint where contype = 'c'"
    checks = {name: text for name, text in database.execute(query).fetchall() if "lower(" in text}
    assert set(checks) == {"email_check", "own_addresses_check", "rules_scope_ref_check"}
    assert [name for name, text in checks.items() if "pg_c_utf8" not in text] == []
