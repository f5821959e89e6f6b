"""A push that is verified and understood is stored before it is answered; every other one ends as it must."""

import base64
import json
from time import monotonic

import psycopg
import pytest
from psycopg import Connection
from pydantic import SecretStr

from domain.payloads.gmail import SyncPayload
from sandbox.emulator.control import FaultOrder, GmailControl
from sandbox.servers.postgres_server import PostgresServer
from settings import Settings
from storage.jobs import relay
from storage.mail.accounts import accounts
from storage.postgres.database import Database
from storage.postgres.migrate import upgrade
from tests.doubles.factories import enqueue_one, make_job_type
from tests.gateway.mailboxes import AUDIENCE, CURSOR, EMAIL, PUSHER, connect, refused, syncs
from tests.gateway.serving import ask, serve
from tests.providers.google import signing
from tests.providers.google.signing import Signer
from tests.providers.wire import Wire, reply
from tests.sandbox.sdk import gmail_users
from tests.waiting import eventually

NEWER = CURSOR + 1
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def hook(gateway: str) -> str:
    return f"{gateway}/webhooks/gmail"


@pytest.mark.usefixtures("gateway")
def test_a_push_is_stored_as_one_sync_job(gmail: GmailControl, store: Database) -> None:
    account = connect(store)
    assert gmail.push(EMAIL, history_id=NEWER) == [204]
    (job,) = syncs(store)
    assert job[:2] == (account.org_id, "queued")
    understood = SyncPayload.read(job[2], 1)
    assert understood == SyncPayload(account_id=account.account_id, history_id=NEWER, reason="push")
    assert refused(store) == {}


@pytest.mark.usefixtures("gateway")
def test_the_sync_waits_for_the_relay_which_is_woken(gmail: GmailControl, store: Database) -> None:
    connect(store)
    with store.session() as session:
        relay.listen(session)
        assert gmail.push(EMAIL, history_id=NEWER) == [204]
        assert relay.wait(session, 5)
    with store.ledger() as tx:
        assert tx.raw("select published_at from jobs")[0].published_at is None


@pytest.mark.usefixtures("gateway")
def test_a_mailbox_of_two_orgs_is_synced_for_both(gmail: GmailControl, store: Database) -> None:
    orgs = {connect(store, "one").org_id, connect(store, "two").org_id}
    assert gmail.push(EMAIL.upper(), history_id=NEWER, history_id_as_number=True) == [204]
    assert {org for org, _, _ in syncs(store)} == orgs
    assert len(orgs) == 2


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(
    "wrong",
    [
        {"audience": "https://elsewhere.example.com"},
        {"service_account": "other@project.example.com"},
        {"expired": True},
        {"unknown_kid": True},
    ],
)
def test_another_callers_token_is_forbidden(gmail: GmailControl, store: Database, wrong: dict[str, object]) -> None:
    connect(store)
    assert gmail.push(EMAIL, history_id=NEWER, **wrong) == [403]
    assert syncs(store) == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 401), ({"Authorization": "Bearer a.b.c"}, 403), ({"Authorization": "Basic YTpi"}, 403)],
)
def test_no_token_is_unauthorised_and_a_broken_one_forbidden(
    gateway: str, store: Database, headers: dict[str, str], status: int
) -> None:
    answer = ask(hook(gateway), b"{}", headers)
    assert answer.status == status
    assert ("www-authenticate" in {name.lower() for name in answer.headers}) == (status == 401)
    assert refused(store) == {}


def test_without_a_set_audience_every_push_is_refused(gmail: GmailControl, pushing: Settings, store: Database) -> None:
    connect(store)
    make_job_type(store, "gmail.sync")
    with serve(pushing.model_copy(update={"pubsub_audience": ""})) as url:
        gmail.configure_push(hook(url), "", service_account=PUSHER)
        assert gmail.push(EMAIL, history_id=NEWER) == [403]
    assert syncs(store) == []


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(
    "garbage",
    [
        "not base64!",
        base64.b64encode(b"no json").decode(),
        base64.b64encode(b'{"historyId": "5"}').decode(),
        "x" * 300_000,
    ],
)
def test_garbage_from_google_is_acknowledged_and_counted(gmail: GmailControl, store: Database, garbage: str) -> None:
    connect(store)
    assert gmail.push(EMAIL, garbage=garbage) == [204]
    assert (syncs(store), refused(store)) == ([], {"unparsable": 1})


@pytest.mark.usefixtures("gateway")
def test_a_body_that_nobody_honest_sends_is_refused_unread(gmail: GmailControl, store: Database) -> None:
    assert gmail.push(EMAIL, garbage="x" * (17 * 1024 * 1024)) != [204]
    assert refused(store) == {}


@pytest.mark.usefixtures("gateway")
def test_an_unknown_mailbox_is_acknowledged_and_counted(gmail: GmailControl, store: Database) -> None:
    assert gmail.push("nobody@example.com", history_id=5) == [204]
    assert gmail.push("nobody@example.com", history_id=6) == [204]
    assert refused(store) == {"unknown_account": 2}


@pytest.mark.usefixtures("gateway")
def test_a_disconnected_account_is_acknowledged_and_counted(gmail: GmailControl, store: Database) -> None:
    account = connect(store)
    with store.ledger() as tx:
        accounts.disconnect(tx, account.account_id, "the owner left")
    assert gmail.push(EMAIL, history_id=NEWER) == [204]
    assert (syncs(store), refused(store)) == ([], {"inactive_account": 1})


@pytest.mark.usefixtures("gateway")
def test_two_pushes_at_once_make_one_queued_sync(gmail: GmailControl, store: Database) -> None:
    connect(store)
    assert gmail.push(EMAIL, history_id=NEWER, copies=4) == [204] * 4
    assert gmail.push(EMAIL, history_id=NEWER + 1) == [204]
    assert len(syncs(store)) == 1


@pytest.mark.usefixtures("gateway")
def test_a_push_and_a_workers_own_sync_count_as_the_same(gmail: GmailControl, store: Database) -> None:
    account = connect(store)
    payload = SyncPayload(account_id=account.account_id, reason="fallback").document()
    enqueue_one(store, account.org_id, SyncPayload.declaration.job_type, payload=payload)
    assert gmail.push(EMAIL, history_id=NEWER) == [204]
    assert len(syncs(store)) == 1


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(
    ("cursor", "pushed", "jobs"),
    [(1000, 999, 0), (1000, 1000, 0), (1000, 1001, 1), (9, 10, 1), (10, 9, 0), (2**64 - 2, 2**64 - 1, 1), (None, 1, 1)],
)
def test_a_push_that_is_no_newer_than_the_cursor_makes_no_job(
    gmail: GmailControl, store: Database, cursor: int | None, pushed: int, jobs: int
) -> None:
    connect(store, cursor=cursor)
    assert gmail.push(EMAIL, history_id=pushed) == [204]
    assert len(syncs(store)) == jobs
    assert refused(store) == {}


def envelope(**data: object) -> bytes:
    """What Pub/Sub posts for Gmail's data."""
    inside = base64.b64encode(json.dumps(data).encode()).decode()
    return json.dumps({"message": {"data": inside, "messageId": "1"}, "subscription": "s"}).encode()


NEWS = envelope(emailAddress=EMAIL, historyId=str(NEWER))


@pytest.mark.usefixtures("sync_type")
@pytest.mark.parametrize(
    ("given", "request_id", "trace"),
    [
        (("request-7", TRACE), "request-7", TRACE),
        (("two words", "00-zz-1-01"), None, None),
        (("x" * 201, TRACE.replace("b7ad6b7169203331", "0" * 16)), None, None),
    ],
)
def test_a_sync_carries_the_requests_ids_and_trace_if_they_are_well_formed(
    pushing: Settings, store: Database, given: tuple[str, str], request_id: str | None, trace: str | None
) -> None:
    connect(store)
    signer = Signer("key-1")
    with Wire(reply(200, signer.certificates)) as wire:
        believing = {
            "google_url": wire.url,
            "pubsub_audience": signing.AUDIENCE,
            "pubsub_service_account": signing.SENDER,
        }
        with serve(pushing.model_copy(update=believing)) as url:
            headers = {"Authorization": signer.header(), "X-Request-Id": given[0], "traceparent": given[1]}
            answer = ask(hook(url), NEWS, headers)
            assert ask(hook(url), NEWS, headers).status == 204
    assert answer.status == 204
    with store.ledger() as tx:
        job = tx.raw("select request_id, correlation_id, traceparent, actor_type, actor_id from jobs")[0]
    assert job.request_id == answer.headers["x-request-id"] == (request_id or job.request_id)
    assert job.request_id != given[0] or request_id
    assert (job.correlation_id, job.traceparent, job.actor_id) == (job.request_id, trace, "pubsub")
    assert len(wire.seen) == 1, "the certificates are cached"


@pytest.mark.usefixtures("gateway")
def test_certificates_out_of_reach_bring_the_push_again(gmail: GmailControl, store: Database) -> None:
    connect(store)
    gmail.order(FaultOrder(operation="oauth.certs", status=500, times=1))
    assert gmail.push(EMAIL, history_id=NEWER) == [503]
    assert syncs(store) == []


@pytest.mark.usefixtures("gateway")
def test_a_catalogue_without_the_sync_brings_the_push_again(
    gmail: GmailControl, store: Database, database: Connection
) -> None:
    connect(store)
    database.execute("delete from job_types")
    assert gmail.push(EMAIL, history_id=NEWER) == [503]
    make_job_type(store, "gmail.sync")
    assert gmail.push(EMAIL, history_id=NEWER) == [204]
    assert len(syncs(store)) == 1


def test_a_push_that_met_no_database_comes_again_and_is_stored(
    own_postgres: PostgresServer, pushing: Settings, gmail: GmailControl
) -> None:
    settings = pushing.model_copy(update={"database_url": SecretStr(own_postgres.url())})
    upgrade(settings)
    store = Database(settings)
    make_job_type(store, "gmail.sync", unique_mode="while_queued", unique_fields=("account_id",))
    mailbox = gmail.create_account(EMAIL, "access-1", "refresh-1")
    connect(store, cursor=1)
    with serve(settings) as url, gmail_users(gmail.url) as users:
        store.dispose()
        own_postgres.stop()
        gmail.configure_push(hook(url), AUDIENCE, service_account=PUSHER)
        users.watch(userId="me", body={"topicName": "projects/postroom/topics/gmail"}).execute()
        assert gmail.wait_for("push.deliver", 1)[0].status == 503
        own_postgres.start()
        eventually(lambda: gmail.journal("push.deliver")[-1].status == 204, describe="the push was never taken")
    assert len(syncs(store)) == 1
    assert mailbox.email == EMAIL
    store.dispose()


@pytest.mark.usefixtures("gateway")
def test_a_push_waits_for_no_row_that_a_tenant_has_locked(
    gmail: GmailControl, store: Database, settings: Settings
) -> None:
    connect(store)
    connect(store, org="two", email="two@example.com")
    assert gmail.push(EMAIL, history_id=NEWER) == [204]
    with psycopg.connect(settings.database_url.get_secret_value()) as holder:
        holder.execute("select from idempotency_keys for update")
        began = monotonic()
        assert gmail.push(EMAIL, history_id=NEWER + 1) == [503]
        assert gmail.push("two@example.com", history_id=NEWER) == [204]
        assert monotonic() - began < 2
    assert gmail.push(EMAIL, history_id=NEWER + 1) == [204]


@pytest.mark.usefixtures("gateway")
def test_a_push_of_a_mailbox_of_two_orgs_is_stored_for_the_one_that_has_locked_nothing(
    gmail: GmailControl, store: Database
) -> None:
    held, free = connect(store, "one"), connect(store, "two")
    with store.tenant(held.org_id) as tx:
        sync = {"account_id": str(held.account_id), "reason": "fallback"}
        tx.raw(
            "select postroom.enqueue('gmail.sync', %(org)s, %(sync)s::jsonb)",
            {"org": held.org_id, "sync": json.dumps(sync)},
        )
        assert gmail.push(EMAIL, history_id=NEWER) == [503]
        assert [org for org, _, _ in syncs(store)] == [free.org_id]
    assert gmail.push(EMAIL, history_id=NEWER) == [204]
    assert {org for org, _, _ in syncs(store)} == {held.org_id, free.org_id}
    assert len(syncs(store)) == 2
