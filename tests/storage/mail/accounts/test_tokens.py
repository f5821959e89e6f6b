"""One refresh per account, whoever else tries at the same moment (docs: google-oauth.md#refreshing)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

from psycopg import Connection
from pydantic import SecretStr

from storage.mail.accounts import accounts, tokens
from storage.mail.accounts.tokens import Refreshed
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Database
from tests.doubles.mail_factories import NOON, SEALER, make_account, token_of


def test_of_many_who_want_to_refresh_one_does(store: Database) -> None:
    account = make_account(store)
    start = Barrier(6)

    def try_once(owner: int) -> bool:
        start.wait(timeout=10)
        with store.tenant(account.org_id) as tx:
            return tokens.take_refresh_lease(
                tx, account.account_id, owner=token_of(owner), version=account.token_version
            )

    with ThreadPoolExecutor(6) as pool:
        won = list(pool.map(try_once, range(6)))
    assert sum(won) == 1


def test_a_loser_finds_the_newer_tokens(store: Database) -> None:
    account = make_account(store)
    version = account.token_version
    with store.tenant(account.org_id) as tx:
        assert tokens.take_refresh_lease(tx, account.account_id, owner=token_of(1), version=version)
        refreshed = Refreshed(SecretStr("access-2"), NOON + timedelta(hours=2))
        assert (
            tokens.store_refreshed(tx, SEALER, account.account_id, version=version, refreshed=refreshed) == version + 1
        )
    with store.tenant(account.org_id) as tx:
        assert not tokens.take_refresh_lease(tx, account.account_id, owner=token_of(2), version=version)
        now = tokens.current(tx, SEALER, account.account_id)
        late = Refreshed(SecretStr("late"), NOON, SecretStr("late"))
        assert tokens.store_refreshed(tx, SEALER, account.account_id, version=version, refreshed=late) is None
    assert (now.version, now.access_expires_at) == (version + 1, NOON + timedelta(hours=2))
    assert now.access_token is not None
    assert now.refresh_token is not None
    assert (now.access_token.get_secret_value(), now.refresh_token.get_secret_value()) == ("access-2", "refresh-1")
    assert "access-2" not in repr(now)


def test_a_lease_ends_by_release_or_by_time(store: Database, database: Connection) -> None:
    account = make_account(store)

    def take(owner: int) -> bool:
        with store.tenant(account.org_id) as tx:
            return tokens.take_refresh_lease(
                tx, account.account_id, owner=token_of(owner), version=account.token_version
            )

    assert take(1)
    with store.tenant(account.org_id) as tx:
        tokens.release(tx, account.account_id, owner=token_of(2))
    assert not take(2)
    with store.tenant(account.org_id) as tx:
        tokens.release(tx, account.account_id, owner=token_of(1))
    assert take(2)
    database.execute("update accounts set refresh_until = now() - interval '1 second'")
    assert take(3)


def test_a_parked_account_is_not_refreshed(store: Database) -> None:
    account = make_account(store)
    with store.tenant(account.org_id) as tx:
        accounts.mark_needs_reconsent(tx, account.account_id, version=account.token_version, reason="invalid_grant")
        assert not tokens.take_refresh_lease(tx, account.account_id, owner=token_of(1), version=account.token_version)


def test_resealing_moves_every_token_under_the_first_key(store: Database, database: Connection) -> None:
    for name in "abc":
        make_account(store, email=f"{name}@example.com")
    rotated, new = Sealer(["a new key", "a key for tests"]), Sealer(["a new key"])
    done: list[int] = []
    while not done or done[-1]:
        with store.ledger() as tx:
            done.append(tokens.reseal_some(tx, rotated, limit=2))
    assert done == [2, 1, 0]
    with store.ledger() as tx:
        for account in tx.raw("select id, token_version from accounts"):
            opened = tokens.current(tx, new, account.id)
            assert opened.refresh_token is not None
            assert opened.refresh_token.get_secret_value() == "refresh-1"
            assert opened.version == account.token_version
    stored = database.execute("select sealed_access_token, sealed_refresh_token from accounts").fetchall()
    assert not any(b"access-1" in row[0] or b"refresh-1" in row[1] for row in stored)
