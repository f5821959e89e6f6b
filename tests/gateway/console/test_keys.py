"""Admins make, list and revoke API keys in the console: a key is shown once, and is of an org of theirs."""

import re
from uuid import UUID

import pytest
from psycopg import Connection

from domain.orgs.access.operators import OperatorRole
from storage.orgs.access import api_keys
from storage.postgres.database import Database
from tests.doubles.factories import make_org
from tests.gateway.console.conftest import SignIn
from tests.gateway.console.people import Browser, add_operator

KEY = re.compile(r"sk-postroom-[0-9a-f]{12}-[0-9a-f]{64}")


def test_a_key_is_shown_once_and_lets_its_holder_in(sign_in: SignIn, store: Database, org: UUID) -> None:
    admin = sign_in()
    form = {"role": "writer", "name": "importer", "of_org": str(org)}
    assert KEY.search(admin.post("/keys/create", form).body.decode()) is None  # what will happen
    made = admin.post("/keys/create", {**form, "confirmed": "yes"})
    found = KEY.search(made.body.decode())
    assert found is not None, made.body
    assert made.headers["cache-control"] == "no-store"
    with store.statements() as tx:
        caller = api_keys.find(tx, found[0])
    assert caller is not None
    assert caller.org_id == org
    listed = admin.text(f"/keys?of_org={org}")
    assert "importer" in listed
    assert KEY.search(listed) is None
    shown = admin.text(f"/keys/show?key_id={caller.key_id}&of_org={org}")
    assert "/console/keys/revoke?" in shown
    admin.post("/keys/revoke", {"key_id": str(caller.key_id), "of_org": str(org), "confirmed": "yes"})
    with store.statements() as tx:
        assert api_keys.find(tx, found[0]) is None


def test_an_admin_of_one_org_has_its_keys_alone(store: Database, database: Connection, browser: Browser) -> None:
    own, other = make_org(database, "own"), make_org(database, "other")
    browser.use(add_operator(store, "ada@example.org"))
    theirs = browser.do("create_key", other, role="reader", name="theirs").json()
    browser.use(add_operator(store, "bob@example.org", OperatorRole.ADMIN, [own]))
    mine = browser.do("create_key", own, role="reader", name="mine").json()
    assert browser.do("create_key", other, role="reader", name="x").status_code == 403
    assert [one["name"] for one in browser.do("list_keys", own).json()] == ["mine"]
    for name in ("show_key", "revoke_key"):
        assert browser.do(name, own, key_id=theirs["key_id"]).status_code == 404
    assert browser.do("revoke_key", own, key_id=mine["key_id"]).json()["revoked_by"].startswith("operator:")
    assert database.execute("select count(*) from api_keys where revoked_at is null").fetchone() == (1,)


@pytest.mark.parametrize("role", [one for one in OperatorRole if one is not OperatorRole.ADMIN])
def test_keys_take_an_admin(store: Database, org: UUID, browser: Browser, role: OperatorRole) -> None:
    browser.use(add_operator(store, "bob@example.org", role))
    assert browser.do("list_keys", org).status_code == 403
    assert browser.do("create_key", org, role="reader", name="x").status_code == 403


def test_a_key_takes_the_password_lately(store: Database, org: UUID, database: Connection, browser: Browser) -> None:
    browser.use(add_operator(store, "ada@example.org"))
    database.execute("update operator_sessions set proved_at = now() - interval '1 hour'")
    assert browser.do("create_key", org, role="reader", name="x").status_code == 303
    assert database.execute("select count(*) from api_keys").fetchone() == (0,)
