"""One request is one request, whatever the connection does."""

import socket

import pytest

from domain.jobs.failures import CallState, Transient
from providers.google.gmail import GmailMailbox
from providers.google.transport import NoReplayHttp
from tests.doubles.factories import unmetered
from tests.providers.wire import BODY, Wire, cut_short, drop, hang, reply, trickle

MESSAGE = {"id": "m2", "threadId": "t1", "labelIds": ["SENT"]}
PROFILE = {"emailAddress": "ada@example.com", "historyId": "7"}


def mailbox(endpoint: str, timeout_s: float = 5) -> GmailMailbox:
    return GmailMailbox(
        account="account-1", access_token="ya29.secret", timeout_s=timeout_s, meter=unmetered, endpoint=endpoint
    )


def test_a_post_whose_answer_is_dropped_is_sent_once_and_in_doubt() -> None:
    with Wire(drop) as wire, mailbox(wire.url) as gmail:
        with pytest.raises(Transient) as caught:
            gmail.send_draft("r1")
        assert [(seen.method, seen.json) for seen in wire.seen] == [("POST", {"id": "r1"})]
    assert caught.value.call_state is CallState.IN_DOUBT
    assert caught.value.code == "gmail.connection_lost"


def test_a_get_whose_answer_is_dropped_is_asked_again() -> None:
    with Wire(drop, reply(200, PROFILE)) as wire, mailbox(wire.url) as gmail:
        assert gmail.profile().history_id == 7
        assert len(wire.seen) == 2


def test_a_get_that_is_dropped_for_good_changed_nothing() -> None:
    with Wire(drop) as wire, mailbox(wire.url) as gmail, pytest.raises(Transient) as caught:
        gmail.profile()
    assert caught.value.call_state is CallState.NOT_DONE


def test_a_post_does_not_use_the_connection_that_the_server_has_left() -> None:
    """The server closes the kept connection while it rests; the POST must neither fail nor double."""
    with Wire(reply(200, PROFILE), reply(200, MESSAGE)) as wire, mailbox(wire.url) as gmail:
        gmail.profile()
        wire.hang_up()
        assert gmail.send_draft("r1").message_id == "m2"
        assert [seen.method for seen in wire.seen] == ["GET", "POST"]


def test_two_mailboxes_use_one_connection_each_with_its_own_token() -> None:
    """What proves who asks belongs to the request; a thread works for one tenant after another."""
    with Wire(reply(200, PROFILE)) as wire:
        for token in ("ya29.ada", "ya29.bob", None):
            NoReplayHttp(timeout_s=5, access_token=token).request(f"{wire.url}/profile")
        assert [seen.headers.get("authorization") for seen in wire.seen] == ["Bearer ya29.ada", "Bearer ya29.bob", None]
        assert wire.connections == 1


@pytest.mark.parametrize("conduct", [drop, cut_short], ids=["dropped", "cut short"])
@pytest.mark.parametrize("verb", ["POST", "PUT", "DELETE"])
def test_every_changing_verb_is_sent_once(conduct: object, verb: str) -> None:
    calls = {
        "POST": lambda gmail: gmail.create_draft(b"Subject: x\r\n\r\n", thread_id=None),
        "PUT": lambda gmail: gmail.update_draft("r1", b"Subject: x\r\n\r\n", thread_id="t1"),
        "DELETE": lambda gmail: gmail.delete_draft("r1"),
    }
    with Wire(conduct) as wire, mailbox(wire.url) as gmail:  # type: ignore[arg-type]  # one of the two above
        with pytest.raises(Transient) as caught:
            calls[verb](gmail)
        assert [seen.method for seen in wire.seen] == [verb]
    assert caught.value.call_state is CallState.IN_DOUBT


def test_a_post_without_an_answer_in_time_is_in_doubt() -> None:
    with Wire(hang) as wire, mailbox(wire.url, timeout_s=0.2) as gmail:
        with pytest.raises(Transient) as caught:
            gmail.send_draft("r1")
        assert len(wire.seen) == 1
    assert (caught.value.call_state, caught.value.code) == (CallState.IN_DOUBT, "gmail.timeout")


def test_a_get_without_an_answer_in_time_changed_nothing() -> None:
    with Wire(hang) as wire, mailbox(wire.url, timeout_s=0.2) as gmail, pytest.raises(Transient) as caught:
        gmail.profile()
    assert (caught.value.call_state, caught.value.code) == (CallState.NOT_DONE, "gmail.timeout")


@pytest.mark.parametrize("writes", [True, False])
def test_a_server_that_is_not_there_was_never_asked(*, writes: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with mailbox(f"http://127.0.0.1:{port}") as gmail, pytest.raises(Transient) as caught:
        gmail.send_draft("r1") if writes else gmail.profile()
    assert (caught.value.call_state, caught.value.code) == (CallState.NOT_DONE, "gmail.unreachable")


def test_a_redirect_is_not_followed_with_the_token() -> None:
    with Wire(reply(200, PROFILE)) as elsewhere:
        moved = reply(307, headers={"Location": f"{elsewhere.url}/away"})
        with Wire(moved) as wire, mailbox(wire.url) as gmail, pytest.raises(Exception, match="status 307"):
            gmail.profile()
        assert elsewhere.seen == []


def test_a_401_is_not_refreshed_behind_our_back() -> None:
    with Wire(reply(401, {"error": {"errors": [{"reason": "authError"}]}})) as wire, mailbox(wire.url) as gmail:
        with pytest.raises(Exception, match="authError"):
            gmail.profile()
        assert len(wire.seen) == 1


def test_the_token_is_sent_and_appears_in_no_failure() -> None:
    with Wire(reply(500, b"ya29.secret")) as wire, mailbox(wire.url) as gmail:
        with pytest.raises(Transient) as caught:
            gmail.search("from:bob@example.org salary")
        assert wire.seen[0].headers["authorization"] == "Bearer ya29.secret"
    shown = f"{caught.value!r} {caught.value.reason} {caught.value.__cause__} {caught.value.__context__}"
    assert "secret" not in shown
    assert "salary" not in shown


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nX-Slow: ", BODY], ids=["head", "body"])
@pytest.mark.parametrize("changes", [True, False], ids=["write", "read"])
def test_an_answer_that_trickles_ends_with_the_calls_time(head: bytes, changes: bool) -> None:
    with (
        Wire(trickle(0.05, head)) as wire,
        mailbox(wire.url, timeout_s=0.4) as gmail,
        pytest.raises(Transient) as caught,
    ):
        _ = gmail.send_draft("r1") if changes else gmail.profile()
    assert caught.value.code == "gmail.timeout"
    assert caught.value.call_state is (CallState.IN_DOUBT if changes else CallState.NOT_DONE)


def test_each_call_has_its_own_time_on_a_kept_connection() -> None:
    with Wire(reply(200, PROFILE), reply(200, PROFILE), trickle(0.05)) as wire, mailbox(wire.url, 0.4) as gmail:
        assert gmail.profile().history_id == gmail.profile().history_id == 7
        with pytest.raises(Transient):
            gmail.profile()
        assert len(wire.seen) == 3
