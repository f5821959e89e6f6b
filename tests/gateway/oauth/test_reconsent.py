"""Consent that was lost comes back by browser: parked jobs go on, and an expired cursor is followed by a full sync."""

from psycopg import Connection
from pydantic import SecretStr

from domain.jobs.gate_causes import Cause
from domain.mail.consent import link_address
from storage.jobs import gates
from storage.jobs.gates import Gate
from storage.mail.accounts import accounts, consents
from storage.mail.accounts.consents import ConsentWish
from tests.doubles.mail_environment import OWNER, MailEnvironment
from tests.gateway.oauth.browser import CALLBACK, PUBLIC, Browser
from tests.gateway.oauth.conftest import OPERATOR
from tests.gateway.serving import serve

ORG = "The Example Org"


def connect_again(env: MailEnvironment, **decision: object) -> str:
    """Make a link, go through it, and return the last page's title."""
    settings = env.process.settings.model_copy(
        update={
            "public_url": PUBLIC,
            "google_url": env.gmail.url,
            "google_client_id": "client",
            "google_client_secret": SecretStr("client-secret"),
        }
    )
    env.gmail.register_client("client", "client-secret", CALLBACK)
    with env.process.database.ledger() as tx:
        link = consents.make_link(tx, accounts.ensure_org(tx, ORG), ConsentWish(OWNER, OWNER), by=OPERATOR)
    with serve(settings) as url:
        return Browser(url).connect(link_address(PUBLIC, link.secret), **decision).title


def lose_consent(env: MailEnvironment) -> None:
    env.mailbox.revoke()
    env.database.execute("update accounts set access_expires_at = now() + interval '1 minute'")


def test_parked_jobs_go_on_and_nothing_is_missed(env: MailEnvironment, database: Connection) -> None:
    env.sync()
    lose_consent(env)
    parked = env.enqueue("gmail.sync")
    env.drain()
    assert env.job(parked)["state"] == "queued"
    with env.process.database.ledger() as tx:
        gates.close(tx, Gate("account", str(env.account.account_id), "under repair", None, "operator:ada"))
    missed = env.deliver("While you were away", "Nobody told us of this one.")
    env.mailbox.expire_history()
    version = database.execute("select token_version from accounts").fetchone()
    assert connect_again(env) == f"{OWNER} is connected"
    with env.process.database.ledger() as tx:
        assert [gate.cause for gate in gates.closed(tx)] == [Cause.PAUSE], "a person's pause stays"
        gates.open_gate(tx, "account", str(env.account.account_id))
    env.drain()
    assert env.job(parked)["state"] == "succeeded"
    assert database.execute(
        "select count(*) from messages where gmail_message_id = %s", (missed.message_id,)
    ).fetchone() == (1,)
    rows = database.execute("select status, token_version > %s, google_subject is not null from accounts", version)
    assert rows.fetchall() == [("active", True, True)]
    assert database.execute(
        "select count(*) from jobs where job_type = 'gmail.sync' and output ->> 'why' = 'history expired'"
    ).fetchone() == (1,)
    alerts = "select payload ->> 'kind' from jobs where job_type = 'deadletter.send_alert' order by created_at, id"
    assert database.execute(alerts).fetchall() == [("consent",), ("consent_back",)]
    assert connect_again(env) == f"{OWNER} is connected"
    assert len(database.execute(alerts).fetchall()) == 2, "nothing was lost in between"


def test_a_consent_that_is_refused_leaves_the_account_as_it_was(env: MailEnvironment, database: Connection) -> None:
    env.sync()
    before = database.execute("select to_jsonb(a) from accounts a").fetchone()
    assert connect_again(env, deny=True) == f"{OWNER} was not connected"
    assert database.execute("select to_jsonb(a) from accounts a").fetchone() == before
    env.deliver("Still here", "The old tokens still work.")
    assert env.sync()[0] == ("gmail.sync", "succeeded")
