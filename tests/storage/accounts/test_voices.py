"""How an owner writes is forgotten with the connection, also when both are written at the same moment."""

from concurrent.futures import ThreadPoolExecutor

from psycopg import Connection

from domain.mail.replies.voice import accept_voice
from storage.accounts import accounts, voices
from storage.postgres.database import Database
from tests.doubles.mail_factories import make_account
from tests.waiting import until_a_lock_is_waited_for

VOICE = accept_voice(
    {"formality": "casual", "length": "short", "greeting": "Hi …,", "closing": "Cheers, Olga", "habits": ["is brief"]}
)


def test_a_disconnection_waits_for_a_voice_that_is_being_kept_and_forgets_it(
    store: Database, database: Connection
) -> None:
    account = make_account(store)

    def disconnect() -> bool:
        with store.ledger() as tx:
            return accounts.disconnect(tx, account.account_id, "gone")

    with ThreadPoolExecutor(1) as threads:
        with store.tenant(account.org_id) as tx:
            assert voices.save(tx, account, VOICE, sampled=3)
            disconnected = threads.submit(disconnect)
            until_a_lock_is_waited_for(database, describe="nobody waits for the voice")
        assert disconnected.result(timeout=30)
    assert database.execute("select count(*) from voices").fetchone() == (0,)
