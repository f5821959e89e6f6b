"""A request for consent that nobody finishes has an end, and the audit log has it."""

from uuid import UUID

import pytest
from psycopg import Connection
from pydantic import SecretStr

from domain.jobs.failures import Conflict
from domain.jobs.job import ActorType, Origin
from settings import Settings
from storage.mail.accounts import accounts, consents
from storage.mail.accounts.consents import ConsentRequest, ConsentWish
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Database

EMAIL = "anna@example.com"
ADA = Origin(ActorType.USER, "operator:ada")
SEALER = Sealer(["a key"])
REFUSED = "select data, actor_id from audit_log where event = 'account.consent_refused' order by id"


def asked(store: Database) -> ConsentRequest:
    with store.ledger() as tx:
        link = consents.make_link(tx, accounts.ensure_org(tx, "acme"), ConsentWish.of(EMAIL), by=ADA)
        found = consents.by_link(tx, link.secret)
    assert found is not None
    return found


def sent(store: Database) -> ConsentRequest:
    request = asked(store)
    with store.ledger() as tx:
        assert consents.send(tx, SEALER, request) is not None
    return request


def exchanging(store: Database) -> ConsentRequest:
    request = sent(store)
    with store.ledger() as tx:
        assert consents.take(tx, request)
    return request


def change(database: Connection, request: ConsentRequest, to: str) -> UUID:
    database.execute(f"update consent_requests set {to} where id = %s".encode(), (request.request_id,))
    return request.request_id


def test_each_way_of_breaking_off_is_in_the_audit_log_once_and_without_a_secret(
    store: Database, database: Connection
) -> None:
    live = (asked(store), sent(store), exchanging(store))
    unused = change(database, asked(store), "link_expires_at = now()")
    late = change(database, sent(store), "answer_by = now()")
    dead = change(database, exchanging(store), "answered_at = now() - interval '2 minutes'")
    with store.ledger() as tx:
        assert consents.end_overdue(tx, batch=10) == 3
        assert consents.end_overdue(tx, batch=10) == 0
    whys = {unused: "too_late", late: "too_late", dead: "broken_off"}
    found = database.execute(REFUSED).fetchall()
    assert [data for data, _ in found] == [{"request_id": str(one), "why": why} for one, why in whys.items()]
    assert {actor for _, actor in found} == {"operator:ada"}
    states = database.execute("select state from consent_requests where refusal is null order by id").fetchall()
    assert states == [("asked",), ("sent",), ("exchanging",)]
    assert len(live) == 3


def test_an_exchange_that_is_being_written_is_not_ended(store: Database, database: Connection) -> None:
    request = exchanging(store)
    with store.ledger() as writing:
        assert consents.hold(writing, request)
        change_later = "update consent_requests set answered_at = now() - interval '2 minutes' where id = %(id)s"
        writing.raw(change_later, {"id": request.request_id})
        with store.ledger() as tx:
            assert consents.end_overdue(tx, batch=10) == 0
    assert database.execute(REFUSED).fetchall() == []


def test_a_link_that_has_ended_is_known_and_no_good(store: Database, database: Connection) -> None:
    with store.ledger() as tx:
        link = consents.make_link(tx, accounts.ensure_org(tx, "acme"), ConsentWish.of(EMAIL), by=ADA)
    database.execute("update consent_requests set link_expires_at = now()")
    with store.ledger() as tx:
        consents.end_overdue(tx, batch=10)
        found = consents.by_link(tx, link.secret)
        assert found is not None
        assert (found.state, found.refused and found.refused.why) == ("refused", "too_late")
        assert consents.send(tx, SEALER, found) is None


def test_a_link_is_made_only_where_a_browser_can_be_sent_somewhere(settings: Settings, store: Database) -> None:
    half = settings.model_copy(update={"public_url": "https://mail.example.org", "google_client_id": "c"})
    whole = half.model_copy(update={"google_client_secret": SecretStr("a secret")})
    with store.ledger() as tx:
        org_id = accounts.ensure_org(tx, "acme")
        with pytest.raises(Conflict, match="POSTROOM_GOOGLE_CLIENT_SECRET"):
            consents.invite(tx, half, org_id, ConsentWish.of(EMAIL), by=ADA)
        link = consents.invite(tx, whole, org_id, ConsentWish.of(EMAIL.upper(), "Ben@Example.com"), by=ADA)
    assert link.address.startswith("https://mail.example.org/oauth/google/start?link=")
    assert (link.wish.email, link.wish.owner) == (EMAIL, "ben@example.com")
