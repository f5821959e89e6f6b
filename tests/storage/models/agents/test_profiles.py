"""Profiles: a new version per change, an account's own before its org's, nobody's of another org."""

from typing import Any

import pytest
from psycopg import Connection

from domain.jobs.failures import Gone, Invalid
from domain.jobs.job import Origin
from domain.models.agents.profile import AgentProfile, parse_profile
from storage.models.agents import profiles
from storage.postgres.database import Database
from tests.doubles.mail_factories import make_account

BY = Origin(actor_id="operator:ada")


def profile(prompt: str = "Be kind.", **changes: Any) -> AgentProfile:  # noqa: ANN401 - fields of a profile
    fields = {"name": "desk", "prompt": prompt, "model": "m-1", "tools": ["archive"], **changes}
    return parse_profile(fields)


def test_each_change_is_a_version_and_the_newest_counts(store: Database) -> None:
    account = make_account(store)
    with store.ledger() as tx:
        first = profiles.add(tx, account.org_id, profile("One."), by=BY)
        second = profiles.add(tx, account.org_id, profile("Two."), by=BY)
        assert (first.version, second.version, second.created_by) == (1, 2, "operator:ada")
        found = profiles.find(tx, account.org_id, account.account_id, "desk")
        assert found is not None
        assert found.profile == profile("Two.")
        assert [one.version for one in profiles.listed(tx, account.org_id, limit=9)] == [2]
        assert [one.version for one in profiles.versions(tx, account.org_id, "desk", limit=9)] == [2, 1]


def test_an_accounts_own_goes_before_its_orgs_even_when_disabled(store: Database) -> None:
    account, other = make_account(store), make_account(store, email="you@example.com")
    stranger = make_account(store, org="another org")
    with store.ledger() as tx:
        profiles.add(tx, account.org_id, profile("Org."), by=BY)
        profiles.add(tx, account.org_id, profile("Mine."), account_id=account.account_id, by=BY)
        profiles.switch(tx, account.org_id, "desk", account_id=account.account_id, enabled=False, reason="no", by=BY)
        mine = profiles.find(tx, account.org_id, account.account_id, "desk")
        theirs = profiles.find(tx, other.org_id, other.account_id, "desk")
        assert mine is not None
        assert (mine.enabled, mine.disabled_reason, mine.profile.prompt) == (False, "no", "Mine.")
        assert theirs is not None
        assert (theirs.enabled, theirs.profile.prompt) == (True, "Org.")
        assert profiles.find(tx, stranger.org_id, stranger.account_id, "desk") is None
        assert profiles.find(tx, account.org_id, account.account_id, "nobody") is None


def test_a_new_version_of_a_disabled_profile_is_enabled(store: Database) -> None:
    account = make_account(store)
    with store.ledger() as tx:
        profiles.add(tx, account.org_id, profile(), by=BY)
        profiles.switch(tx, account.org_id, "desk", enabled=False, by=BY)
        assert profiles.add(tx, account.org_id, profile("Better."), by=BY).enabled


def test_who_does_not_exist_cannot_be_switched(store: Database) -> None:
    account = make_account(store)
    with store.ledger() as tx:
        with pytest.raises(Gone, match="no profile desk"):
            profiles.switch(tx, account.org_id, "desk", enabled=False, by=BY)
        profiles.add(tx, account.org_id, profile(), by=BY)
        with pytest.raises(Invalid, match="reason"):
            profiles.switch(tx, account.org_id, "desk", enabled=False, reason="", by=BY)


def test_a_change_is_in_the_audit_log(store: Database, database: Connection) -> None:
    account = make_account(store)
    with store.ledger() as tx:
        profiles.add(tx, account.org_id, profile(), by=BY)
        profiles.switch(tx, account.org_id, "desk", enabled=False, by=BY)
        profiles.switch(tx, account.org_id, "desk", enabled=True, by=BY)
    events = database.execute("select event from audit_log where event like 'agent_profile.%' order by id").fetchall()
    assert [event for (event,) in events] == ["agent_profile.added", "agent_profile.disabled", "agent_profile.enabled"]


def test_a_tenant_reads_its_own_and_writes_none(store: Database) -> None:
    account, stranger = make_account(store), make_account(store, org="another org")
    with store.ledger() as tx:
        profiles.add(tx, account.org_id, profile(), by=BY)
    with store.tenant(stranger.org_id) as tx:
        assert profiles.listed(tx, limit=9) == []
    with store.tenant(account.org_id) as tx:
        assert len(profiles.listed(tx, limit=9)) == 1
