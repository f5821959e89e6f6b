"""Orders of mail in the database: kept once, ended with their jobs, forgotten in time."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection
from psycopg.types.json import Jsonb

from domain.jobs.failures import Gone
from domain.notifications.sender import EmailProvider, SenderIdentity
from domain.payloads.email import EmailOrder
from storage.notifications.email import orders
from storage.notifications.email.orders import OrderDraft, OrderPosition
from storage.postgres.database import Database
from tests.doubles.factories import make_org

ORDER = EmailOrder.model_validate({"to": ["ada@example.org"], "subject": "Lunch", "text": "At noon?", "reference": "r"})
DESK = SenderIdentity(EmailProvider.GRAPH, "desk@example.com", "desk@example.com")
SEND = "select postroom.send_email(%(org)s, %(email)s, max_retries => %(retries)s) as id"


def test_orders_are_listed_from_a_position_on_and_belong_to_their_org(
    store: Database, org: UUID, database: Connection
) -> None:
    other = make_org(database, "another")
    with store.ledger() as tx:
        kept = [orders.keep(tx, org, ORDER) for _ in range(3)]
        foreign = orders.keep(tx, other, ORDER)
    with store.tenant(org) as tx:
        newest, *_ = orders.listed(tx, org, limit=1)
        rest = orders.listed(tx, org, after=OrderPosition(newest.created_at, newest.order_id), limit=9)
        assert [one.order_id for one in (newest, *rest)] == kept[::-1]
        assert (newest.order, newest.recipients, newest.reference) == (ORDER, 1, "r")
        for unseen in (foreign, uuid4()):
            with pytest.raises(Gone):
                orders.get(tx, unseen)


def test_the_newest_order_is_first_though_its_id_is_made_of_a_key(store: Database, org: UUID) -> None:
    kept = []
    for number in range(8):
        with store.ledger() as tx:
            statement = "select postroom.keep_email_order(%(org)s, %(email)s, %(key)s) as id"
            values = {"org": org, "email": Jsonb(ORDER.document()), "key": str(number) if number % 2 else None}
            kept.append(tx.raw(statement, values)[0].id)
    with store.tenant(org) as tx:
        first = orders.listed(tx, org, limit=3)
        rest = orders.listed(tx, org, after=OrderPosition(first[-1].created_at, first[-1].order_id), limit=9)
    assert [one.order_id for one in (*first, *rest)] == kept[::-1]


def test_a_draft_belongs_to_its_mailbox(store: Database, org: UUID) -> None:
    with store.ledger() as tx:
        order_id = orders.keep(tx, org, ORDER)
        orders.bind(tx, order_id, DESK)
        orders.record_draft(tx, order_id, OrderDraft("draft", ""))
        orders.bind(tx, order_id, DESK)
        assert orders.get(tx, order_id).draft == OrderDraft("draft", "")
        orders.bind(tx, order_id, SenderIdentity(EmailProvider.GRAPH, "desk@example.com", "other@example.com"))
        assert orders.get(tx, order_id).draft is None


def test_that_a_mail_has_left_is_written_once(store: Database, org: UUID) -> None:
    with store.ledger() as tx:
        order_id = orders.keep(tx, org, ORDER)
        orders.bind(tx, order_id, DESK)
        first = orders.record_sent(tx, order_id, provider_id="a", message_id=None)
        again = orders.record_sent(tx, order_id, provider_id="b", message_id=None)
        orders.bind(tx, order_id, SenderIdentity(EmailProvider.RESEND, "desk@example.com"))
        stored = orders.get(tx, order_id)
    assert (first, again) == (True, False)
    assert (stored.state, stored.provider_id, stored.bound) == ("sent", "a", DESK)


def test_what_ended_long_ago_is_forgotten_unless_its_dead_letter_is_open(
    store: Database, org: UUID, database: Connection
) -> None:
    with store.ledger() as tx:
        sent, failed, dead, replayable, waiting, young = (orders.keep(tx, org, ORDER) for _ in range(6))
        told = orders.keep(tx, org, ORDER, delivery_id=uuid4())
    ended = "update email_orders set state = %s, ended_at = now() - %s::interval, provider = 'resend',"
    ended += " from_address = 'desk@example.com', provider_id = 'x' where id = %s"
    for order_id, state in ((sent, "sent"), (failed, "failed"), (dead, "dead"), (replayable, "dead"), (told, "dead")):
        database.execute(ended, (state, "31 days", order_id))
    database.execute(ended, ("sent", "29 days", young))
    for job_type, payload in (
        ("email.send", {"order_id": str(replayable)}),
        ("notifications.send_email", {"delivery_id": str(told)}),
    ):
        database.execute(
            "insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan)"
            " values (%s, %s, %s, 'notifications', %s, 1, 'x', '{}', 'x')",
            (org, uuid4(), job_type, Jsonb(payload)),
        )
    with store.ledger() as tx:
        assert replace(orders.RETENTION, age=timedelta(days=32)).forget(tx) == 0
        assert orders.RETENTION.forget(tx) == 3
    left = {row[0] for row in database.execute("select id from email_orders")}
    assert left == {replayable, told, waiting, young}


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize(
    ("email", "retries", "reason"),
    [
        ([], 3, "email: is no JSON object"),
        (None, 3, "email: is no JSON object"),
        ({"text": "x" * 262_144}, 3, "email: has more than"),
        ({"to": "ada@example.org"}, -1, "max_retries: must be"),
        ({"to": "ada@example.org"}, 100, "max_retries: must be"),
    ],
)
def test_sql_refuses_by_field(email: object, retries: int, reason: str, store: Database, org: UUID) -> None:
    with pytest.raises(Exception, match=reason), store.ledger() as tx:
        tx.raw(SEND, {"org": org, "email": Jsonb(email), "retries": retries})


@pytest.mark.usefixtures("process")
def test_a_handler_has_no_part_in_the_entry_point_of_services(store: Database, org: UUID, database: Connection) -> None:
    other = make_org(database, "another")
    with pytest.raises(Exception, match="permission denied"), store.tenant(org) as tx:
        tx.raw(SEND, {"org": other, "email": Jsonb({"to": "ada@example.org"}), "retries": 3})
    assert database.execute("select count(*) from email_orders").fetchone() == (0,)
