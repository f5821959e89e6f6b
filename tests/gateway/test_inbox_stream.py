"""The stream of an inbox: what is new comes at once, and a client that was away misses nothing."""

import http.client
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from domain.notifications.channels import Channel
from domain.orgs.access.api_keys import Role
from gateway.http.resources import STREAMS_OF_ORG
from gateway.inbox_stream import event_of
from operations.notifications.inbox import ItemView
from storage.notifications import inbox
from tests.doubles.told_people import ToldPeople
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import serve
from tests.waiting import eventually


@pytest.fixture
def client(told: ToldPeople) -> Iterator[Client]:
    with serve(told.process.settings) as url:
        yield client_of(told.process.database, url, told.org_id, Role.READER)


class Stream:
    """What a client reads."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response

    def next_ids(self, count: int) -> list[int]:
        """The ids of the next events."""
        found: list[int] = []
        while len(found) < count:
            line = self._response.readline()
            assert line, "the stream has ended"
            if line.startswith(b"id: "):
                found.append(int(line[4:]))
        return found


@contextmanager
def streaming(client: Client, user_id: UUID, last: int | None = None) -> Iterator[Stream]:
    """Open the stream, as `EventSource` does."""
    parts = urlsplit(client.url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=30)
    headers = {"Authorization": f"Bearer {client.key}"} | ({} if last is None else {"Last-Event-ID": str(last)})
    try:
        connection.request("GET", f"/v1/users/{user_id}/inbox/stream", headers=headers)
        response = connection.getresponse()
        assert (response.status, response.headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
        assert response.readline() == b": this is the inbox\n"
        yield Stream(response)
    finally:
        connection.close()


def tell(told: ToldPeople, *buckets: str) -> None:
    for bucket in buckets:
        told.notify(bucket=bucket, channels=(Channel.INBOX,))
    told.run_due()


def test_new_items_come_at_once_and_in_order(told: ToldPeople, client: Client) -> None:
    tell(told, "before")
    with streaming(client, told.user_id) as stream:
        tell(told, "a", "b", "c")
        assert stream.next_ids(3) == [2, 3, 4], "what was there before is the list's"


def test_a_client_that_comes_again_misses_nothing(told: ToldPeople, client: Client) -> None:
    with streaming(client, told.user_id) as stream:
        tell(told, "a")
        (seen,) = stream.next_ids(1)
    tell(told, *(str(number) for number in range(4)))
    with streaming(client, told.user_id, seen) as stream:
        assert stream.next_ids(4) == [seen + 1, seen + 2, seen + 3, seen + 4]
        tell(told, "z")
        assert stream.next_ids(1) == [seen + 5]


def test_all_streams_of_a_process_share_one_listening_connection(told: ToldPeople, client: Client) -> None:
    with streaming(client, told.user_id) as first, streaming(client, told.user_id) as second:
        tell(told, "a")
        assert (first.next_ids(1), second.next_ids(1)) == ([1], [1])
        listening = told.database.execute(
            "select count(*) from pg_stat_activity where application_name like 'postroom:session:%'"
            " and datname = current_database()"
        ).fetchone()
        assert listening == (1,)


def test_a_stream_ends_at_its_next_item_when_its_key_was_revoked(told: ToldPeople, client: Client) -> None:
    with streaming(client, told.user_id) as stream:
        tell(told, "a")
        assert stream.next_ids(1) == [1]
        told.database.execute("update api_keys set revoked_at = now(), revoked_by = 'a test'")
        tell(told, "b")
        with pytest.raises(AssertionError, match="the stream has ended"):
            stream.next_ids(1)


def test_the_bell_may_be_lost_and_is_found_again(told: ToldPeople, client: Client) -> None:
    with streaming(client, told.user_id) as stream:
        tell(told, "a")
        assert stream.next_ids(1) == [1]
        told.database.execute("select pg_notify('postroom_inbox', 'nonsense')")
        cut = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'postroom:session:%'"
        told.database.execute(f"{cut} and datname = current_database()")
        eventually(
            lambda: (
                told.database.execute(
                    "select count(*) from pg_stat_activity where application_name like 'postroom:session:%'"
                    " and datname = current_database()"
                ).fetchone()
                != (0,)
            ),
            describe="the bell listens again",
        )
        tell(told, "b")
        assert stream.next_ids(1) == [2]


def test_an_org_has_so_many_streams_and_a_client_that_leaves_makes_room(told: ToldPeople, client: Client) -> None:
    path = f"/v1/users/{told.user_id}/inbox/stream"
    with ExitStack() as streams:
        for _ in range(STREAMS_OF_ORG):
            streams.enter_context(streaming(client, told.user_id))
        assert client.get(path).status == 429
        assert client.get(f"/v1/users/{told.user_id}/inbox").status == 200, "streams take nobody else's place"
    eventually(lambda: has_room(client, told.user_id), describe="those who left have made room")


def has_room(client: Client, user_id: UUID) -> bool:
    """Whether one more stream opens."""
    try:
        with streaming(client, user_id):
            return True
    except AssertionError:
        return False


def test_strangers_and_nonsense_are_refused(told: ToldPeople, client: Client) -> None:
    assert client.get(f"/v1/users/{told.org_id}/inbox/stream").status == 404
    for odd in ("x", "-1", "9" * 30):
        assert client.get(f"/v1/users/{told.user_id}/inbox/stream", {"Last-Event-ID": odd}).status == 422


def test_an_event_is_one_line_of_data(told: ToldPeople) -> None:
    told.notify(data={"what": "Stage\n\ndata: 2", "who": "Ada\nid: 9"}, channels=(Channel.INBOX,))
    told.run_due()
    with told.process.database.ledger() as tx:
        (item,) = inbox.after(tx, told.org_id, told.user_id, 0, limit=2)
    assert event_of(ItemView.model_validate(item)).count("\n") == 4
