"""PostgreSQL takes a person out of texts, lists and documents as the domain does, a bounded part at a time."""

import json
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection, connect
from psycopg.types.json import Jsonb

from domain.orgs.privacy.erasure import Mark, MarkKind, Search, search_for
from storage.orgs.access import erasing
from storage.orgs.access.erasing import OrgPerson, PagesLeft
from storage.postgres.database import Database
from tests.domain.orgs.privacy.test_erasure import CASES, EVERY_WAY, MARKS
from tests.doubles.factories import enqueue_one, make_job_type
from tests.storage.postgres.row_makers import fill_every_table

SEARCH = search_for(MARKS)
VALUES = {"patterns": list(SEARCH.patterns), "instead": list(SEARCH.instead)}


def test_the_database_takes_out_what_the_domain_does(database: Connection) -> None:
    query = "select postroom.without_marks(%(text)s, %(patterns)s, %(instead)s), %(text)s ~* %(loose)s"
    for text, left in CASES:
        found = database.execute(query, VALUES | {"text": text, "loose": SEARCH.loose}).fetchone()
        assert found is not None
        assert found[0] == (text if left is None else left)
        assert left is None or found[1]


def test_the_database_knows_every_way_to_write_them(database: Connection) -> None:
    query = "select postroom.without_marks(%(text)s, %(patterns)s, %(instead)s), %(text)s ~* %(loose)s"
    for mark, way, write in EVERY_WAY:
        search, text = search_for([mark]), f"at {write(mark.text)} of"
        values = {"patterns": list(search.patterns), "instead": list(search.instead), "loose": search.loose}
        assert database.execute(query, values | {"text": text}).fetchone() == (search.without(text), True), (mark, way)


@pytest.mark.parametrize(
    ("document", "left"),
    [
        ({"ann@example.org": ["Jo", 1, None]}, {"x@x.invalid": ["er", 1, None]}),
        ({"a": {"b": "\nJo\t"}, "c": True}, {"a": {"b": "\ner\t"}, "c": True}),
        ([], []),
        ({}, {}),
        ([{"Jo": 1, "JO": 2}, {"jo": 3, "er": 4}], [{"er 3": 1, "er 2": 2}, {"er 4": 3, "er": 4}]),
        (["\ufdd0Jo\ufdd1\ufdd0\ufdd1", "\ufdd0\ufdd2"], ["\ufdd0er\ufdd1\ufdd0\ufdd1", "\ufdd0\ufdd2"]),
        ({"nora": '\\ " / \x7f é \n\n', "a": {}, "b": [1.50, 1e-7, [], False]}, None),
    ],
)
def test_a_document_loses_them_in_names_and_texts(database: Connection, document: object, left: object | None) -> None:
    """All else is the same to the letter, and the names keep their order."""
    query = "select postroom.document_without_marks(%(document)s, %(patterns)s, %(instead)s)"
    text = json.dumps(document, ensure_ascii=False)
    expected = text if left is None else json.dumps(left, ensure_ascii=False)
    assert database.execute(query, VALUES | {"document": text}).fetchone() == (expected,)


def test_a_number_of_a_document_that_is_the_persons_becomes_0(database: Connection) -> None:
    search = search_for([Mark(MarkKind.NUMBER, "118003625412345678")])
    values = {"patterns": list(search.patterns), "instead": list(search.instead)}
    query = "select postroom.document_without_marks(%(document)s, %(patterns)s, %(instead)s)"
    text = '{"id": 118003625412345678, "others": [-1.50, 1e-7, 1180036254123456789]}'
    assert database.execute(query, values | {"document": text}).fetchone() == (
        text.replace("118003625412345678,", "0,"),
    )


ADDRESS = "zoe@example.org"
BY_ADDRESS = search_for([Mark(MarkKind.ADDRESS, ADDRESS)])


@pytest.fixture
def org_id(database: Connection) -> UUID:
    """An org with a row in every table."""
    made = uuid4()
    fill_every_table(database, made)
    return made


def begin(store: Database, database: Connection, org_id: UUID) -> UUID:
    """Begin the erasure of somebody of the org; returns its id."""
    user_id = uuid4()
    database.execute("insert into users (id, org_id, email) values (%s, %s, %s)", (user_id, org_id, ADDRESS))
    with store.ledger() as tx:
        whom, marks = OrgPerson(user_id, org_id, ADDRESS), [Mark(MarkKind.ADDRESS, ADDRESS)]
        begun = erasing.begin(tx, org_id, whom, marks, reason="they asked", by="system")
    assert begun is not None
    return begun


def write_mails(database: Connection, org_id: UUID, *, count: int, body: str) -> None:
    """Mails of a mailbox of the org, several on a page."""
    database.execute(
        "insert into messages (org_id, account_id, gmail_message_id, gmail_thread_id, direction, received_at, size,"
        " labels, subject, body, document) select %s, id, 'n' || n, 't1', 'incoming', now(), 1, '{}', 'x', %s, %s"
        " from accounts, generate_series(1, %s) as n where org_id = %s",
        (org_id, body, Jsonb({"html": body}), count, org_id),
    )


def erase(store: Database, erasure_id: UUID, part: PagesLeft, search: Search = BY_ADDRESS) -> list[int]:
    """Go through a part by the shortest turns; how many rows changed in each."""
    rows: list[int] = []
    rest: PagesLeft | None = part
    while rest is not None:
        with store.ledger() as tx:
            done = erasing.erase_rows(tx, erasure_id, rest, search, turn=timedelta(0))
        assert done.blocked is None
        rows, rest = [*rows, done.rows], done.rest
    return rows


def test_a_turn_goes_on_with_the_row_behind_the_last_whatever_rows_hold(
    org_id: UUID, store: Database, database: Connection
) -> None:
    """However long one row takes, no other waits for it in the same transaction, and none is gone through twice."""
    erasure_id = begin(store, database, org_id)
    write_mails(database, org_id, count=40, body=f"to {ADDRESS}")
    with store.ledger() as tx:
        part = erasing.whole(tx, "messages")
    rows = erase(store, erasure_id, part)
    assert sum(rows) == 40
    assert max(rows) == 1
    assert erase(store, erasure_id, part) == [0] * part.pages
    left = database.execute("select distinct body, document ->> 'html' from messages where gmail_message_id ~ '^n'")
    assert left.fetchall() == [("to x@x.invalid", "to x@x.invalid")]


def test_a_row_that_cannot_change_keeps_no_other_page(org_id: UUID, store: Database, database: Connection) -> None:
    erasure_id = begin(store, database, org_id)
    write_mails(database, org_id, count=200, body=f"to {ADDRESS}")
    database.execute(
        "insert into threads (org_id, account_id, gmail_thread_id, first_message_at, last_message_at)"
        " select org_id, id, %s, now(), now() from accounts where org_id = %s",
        (ADDRESS, org_id),
    )
    database.execute("update messages set gmail_thread_id = %s where gmail_message_id = 'n1'", (ADDRESS,))
    with store.ledger() as tx:
        part = erasing.whole(tx, "messages")
        done = erasing.erase_rows(tx, erasure_id, part, BY_ADDRESS, turn=timedelta(hours=1))
    assert part.pages > 1
    assert done.rest is None
    assert done.blocked is not None
    assert ADDRESS not in done.blocked
    assert done.rows > 0


def test_jobs_are_found_by_whom_the_row_is_for_that_they_refer_to(
    org_id: UUID, store: Database, database: Connection
) -> None:
    """A mail of somebody else to the person, that was ordered or is an action; an id that is none refers to nothing."""
    make_job_type(store)
    erasure_id = begin(store, database, org_id)
    order, action = uuid4(), uuid4()
    words = Jsonb({"to": [ADDRESS], "text": "hello"})
    database.execute("insert into email_orders (id, org_id, words) values (%s, %s, %s)", (order, org_id, words))
    database.execute(
        "insert into actions (id, org_id, account_id, gmail_message_id, kind, danger, state, parameters)"
        " select %s, org_id, account_id, gmail_message_id, 'forward', 'dangerous', 'queued', %s from messages"
        " where org_id = %s limit 1",
        (action, Jsonb({"to": [ADDRESS]}), org_id),
    )
    (delivery, hers) = database.execute(
        "insert into deliveries (id, org_id, user_id, notification_id, channel, state)"
        " select gen_random_uuid(), d.org_id, e.person_id, d.notification_id, 'sms', 'queued'"
        " from deliveries d, erasures e where d.org_id = %s and e.id = %s limit 1 returning id, user_id",
        (org_id, erasure_id),
    ).fetchone() or (None, None)
    assert hers is not None
    about = [
        enqueue_one(store, org_id, payload={field: str(row)})
        for field, row in (("order_id", order), ("action_id", action), ("delivery_id", delivery))
    ]
    for payload in ({"order_id": "none"}, {"order_id": str(action)}, {"action_id": {"a": 1}}, {}):
        enqueue_one(store, org_id, payload=payload)
    with store.ledger() as tx:
        assert set(erasing.live_jobs(tx, erasure_id, 0, BY_ADDRESS)) == set(about)


def test_the_words_of_a_message_to_somebody_else_lose_the_person(
    org_id: UUID, store: Database, database: Connection
) -> None:
    database.execute("update deliveries set said = %s", (Jsonb({"words": {"body": f"Call {ADDRESS}"}}),))
    erasure_id = begin(store, database, org_id)
    with store.ledger() as tx:
        part = erasing.whole(tx, "deliveries")
    erase(store, erasure_id, part)
    ((said,),) = database.execute("select said::text from deliveries where org_id = %s", (org_id,)).fetchall()
    assert "Call" in said
    assert ADDRESS not in said


def test_a_transaction_is_open_until_its_end(store: Database, database_url: str) -> None:
    """Though it has written nothing yet; that of whoever asks does not count."""
    with store.ledger() as tx, connect(database_url) as other:
        assert erasing.open_transactions(tx) == {}
        other.execute("select")
        assert list(erasing.open_transactions(tx).values()) == [
            f"process {other.info.backend_pid} of {other.info.user}"
        ]
        other.rollback()
        assert erasing.open_transactions(tx) == {}


def test_of_two_who_erase_the_same_one_begins_and_one_finishes(
    org_id: UUID, store: Database, database: Connection
) -> None:
    """The other of both changes nothing more, and can say that it is done."""
    erasure_id = begin(store, database, org_id)
    write_mails(database, org_id, count=1, body=f"to {ADDRESS}")
    (user_id,) = database.execute("select person_id from erasures where id = %s", (erasure_id,)).fetchone() or (None,)
    assert isinstance(user_id, UUID)
    with store.ledger() as tx:
        again = erasing.begin(tx, org_id, OrgPerson(user_id, org_id, ADDRESS), [], reason="they asked", by="system")
    assert again is None
    database.execute("delete from users where id = %s", (user_id,))
    with store.ledger() as tx:
        done = erasing.finish(tx, erasure_id)
        part = erasing.whole(tx, "messages")
    assert done is not None
    assert sum(erase(store, erasure_id, part)) == 0
    with store.ledger() as tx:
        assert erasing.finish(tx, erasure_id) is None
        erasing.count(tx, erasure_id, rows=2, files_removed=1)
        later = erasing.finished(tx, erasure_id)
    assert later is not None
    assert (later.finished_at, later.rows, later.files) == (done.finished_at, done.rows + 2, done.files + 1)
