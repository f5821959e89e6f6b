"""The people of an org: added, changed and removed, each once; the owner of a mailbox stays."""

import pytest

from domain.jobs.failures import Conflict, Gone
from domain.orgs.access.users import UserRole
from engine.runtime import Runtime
from storage.mail.accounts.accounts import Account
from storage.orgs.access import users
from storage.orgs.access.users import UserChanges
from storage.postgres.database import Database
from tests.doubles.mail_factories import make_account


@pytest.fixture
def account(store: Database, process: Runtime) -> Account:
    assert process.database is not None
    return make_account(store)


def test_people_are_added_changed_and_removed(store: Database, account: Account) -> None:
    org_id, bob = account.org_id, UserChanges(UserRole.APPROVER, "42", "Europe/Berlin")
    with store.ledger() as tx:
        made = users.add(tx, org_id, "Bob@Example.org", bob)
        assert users.by_discord(tx, org_id, "42") == made
        with pytest.raises(Conflict):
            users.add(tx, org_id, "bob@example.org", UserChanges())
        with pytest.raises(Conflict, match="discord_user_id"):
            users.change(tx, org_id, account.email, UserChanges(discord_user_id="42"))
        changed = users.change(tx, org_id, "bob@example.org", UserChanges(discord_user_id=""))
        assert (changed.discord_user_id, changed.role, changed.zone) == (None, UserRole.APPROVER, "Europe/Berlin")
        users.remove(tx, org_id, "bob@example.org")
        with pytest.raises(Gone):
            users.remove(tx, org_id, "bob@example.org")


def test_the_owner_of_a_mailbox_stays(store: Database, account: Account) -> None:
    with store.ledger() as tx:
        (owner,) = tx.run("list_users", org_id=account.org_id, after_email=None, limit=9, **users.ALL)
        assert owner.role == UserRole.OWNER
        with pytest.raises(Conflict, match="owns a mailbox"):
            users.remove(tx, account.org_id, owner.email)
