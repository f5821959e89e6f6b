"""Safety policies are kept per mailbox and per org, and the stricter part of each holds."""

from storage.mail.accounts.accounts import Account
from storage.mail.rules import owner_settings, safety
from storage.postgres.database import Database
from tests.doubles.mail_factories import make_account


def holds(store: Database, account: Account) -> dict[str, object]:
    with store.tenant(account.org_id) as tx:
        found: dict[str, object] = owner_settings.settings_of(tx, account.account_id)["safety"]
    return found


def test_an_accounts_policy_its_orgs_and_the_default(store: Database) -> None:
    account, stranger = make_account(store), make_account(store, org="another org")
    default = {"confidence_floor": 0.7, "always_approve": [], "approve_from": "dangerous"}
    assert holds(store, account) == default
    here = (account.org_id, account.account_id)
    with store.ledger() as tx:
        owner_settings.change_policy(tx, *here, {"confidence_floor": 0.5, "always_approve": ["star"]}, by="ada")
    assert holds(store, account) == {"confidence_floor": 0.5, "always_approve": ["star"], "approve_from": "dangerous"}
    with store.ledger() as tx:
        owner_settings.change_policy(tx, *here, {"approve_from": "reversible"}, by="ada")
        changes = {"confidence_floor": 0.9, "always_approve": ["archive"]}
        owner_settings.change_policy(tx, account.org_id, None, changes, by="ada")
        assert [one.account_id for one in safety.listed(tx, account.org_id)] == [None, account.account_id]
    both = {"confidence_floor": 0.9, "always_approve": ["archive", "star"], "approve_from": "reversible"}
    assert holds(store, account) == both
    assert holds(store, stranger) == default
    with store.ledger() as tx:
        assert safety.remove(tx, *here)
        assert not safety.remove(tx, *here)
    assert holds(store, account) == {
        "confidence_floor": 0.9,
        "always_approve": ["archive"],
        "approve_from": "dangerous",
    }


def test_a_tenant_can_read_its_policy_and_write_none(store: Database) -> None:
    account = make_account(store)
    with store.ledger() as tx:
        owner_settings.change_policy(tx, account.org_id, None, {"confidence_floor": 0.9}, by="ada")
    stranger = make_account(store, org="another org")
    with store.tenant(stranger.org_id) as tx:
        assert safety.listed(tx, account.org_id) == ()
