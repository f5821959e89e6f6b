"""Whose fault a failure of a connection is: the server's, its URL's, or ours."""

import ssl

import pytest
from kombu import Connection
from kombu.exceptions import EncodeError

from engine.broker.connection_errors import AWAY, NotMade, is_mistake, making


@pytest.mark.parametrize("url", ["redis://", "amqp://", "memory://"])
def test_all_that_a_transport_lists_is_among_them(url: str) -> None:
    """But `KeyError`, which kombu lists for what consuming from Redis may raise: nobody consumes by our connections."""
    connection = Connection(url)
    listed = {*connection.connection_errors, *connection.channel_errors}
    assert [one for one in listed - {KeyError} if not issubclass(one, AWAY)] == []


@pytest.mark.parametrize("error", [TypeError("foo"), ValueError("port"), LookupError("scheme"), ImportError("redis")])
def test_what_making_a_connection_does_not_understand_is_its_urls(error: Exception) -> None:
    with pytest.raises(NotMade) as found, making():
        raise error
    assert found.value.__cause__ is error
    assert not is_mistake(found.value)


def test_a_certificate_that_is_not_taken_is_the_servers() -> None:
    refused = ssl.SSLCertVerificationError("it has expired")
    assert isinstance(refused, ValueError)
    with pytest.raises(ssl.SSLCertVerificationError), making():
        raise refused
    assert not is_mistake(refused)


@pytest.mark.parametrize("error", [TypeError("foo"), EncodeError("what"), AssertionError()])
def test_once_it_is_made_the_mistake_is_ours(error: Exception) -> None:
    assert is_mistake(error)
