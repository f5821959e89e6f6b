"""Certificates are kept as long as they may be, and fetched no more often than they must."""

import pytest

from domain.jobs.failures import Forbidden, Transient
from providers.google.certificates import QUIET_S, CertificateStore
from providers.google.push import PushClaims, verify_push
from tests.providers.google.signing import AUDIENCE, SENDER, Signer
from tests.providers.wire import Conduct, Wire, drop, reply

SIGNER = Signer("key-1")
LATER = Signer("key-2")


def checked(wire: Wire, header: str, store: CertificateStore) -> PushClaims:
    return verify_push(
        header, audience=AUDIENCE, service_account=SENDER, certs_url=f"{wire.url}/certs", certificates=store
    )


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("headers", "age_s"),
    [
        ({"Cache-Control": "public, max-age=600, must-revalidate"}, 600),
        ({"Cache-Control": "public, max-age=600", "Age": "200"}, 400),
        ({"Cache-Control": "max-age=99999999"}, 86400),
        ({}, 3600),
        ({"Cache-Control": "max-age=0"}, QUIET_S),
    ],
)
def test_certificates_are_kept_as_long_as_they_may(headers: dict[str, str], age_s: float) -> None:
    clock = Clock()
    store = CertificateStore(timeout_s=5, clock=clock)
    with Wire(reply(200, SIGNER.certificates, headers)) as wire:
        checked(wire, SIGNER.header(), store)
        clock.now += age_s - 1
        checked(wire, SIGNER.header(), store)
        assert len(wire.seen) == 1
        clock.now += 1
        checked(wire, SIGNER.header(), store)
        assert len(wire.seen) == 2


def test_a_new_key_is_fetched_before_the_old_ones_expire() -> None:
    clock = Clock()
    store = CertificateStore(timeout_s=5, clock=clock)
    with Wire(reply(200, SIGNER.certificates), reply(200, LATER.certificates)) as wire:
        checked(wire, SIGNER.header(), store)
        clock.now += QUIET_S
        assert checked(wire, LATER.header(), store).email == SENDER


def test_forged_keys_do_not_make_us_hammer_google() -> None:
    clock = Clock()
    store = CertificateStore(timeout_s=5, clock=clock)
    with Wire(reply(200, SIGNER.certificates)) as wire:
        checked(wire, SIGNER.header(), store)
        clock.now += QUIET_S
        for _ in range(20):
            with pytest.raises(Forbidden):
                checked(wire, LATER.header(), store)
        assert len(wire.seen) == 2


@pytest.mark.parametrize(
    "conduct",
    [drop, reply(500), reply(200, b"<html>"), reply(200, []), reply(200, {"keys": []}), reply(200, {})],
    ids=["dropped", "500", "html", "list", "jwk", "empty"],
)
def test_without_certificates_a_push_may_come_again(conduct: Conduct) -> None:
    clock = Clock()
    store = CertificateStore(timeout_s=5, clock=clock)
    with Wire(conduct) as wire:
        for _ in range(3):
            with pytest.raises(Transient):
                checked(wire, SIGNER.header(), store)
        asked = len(wire.seen)
    with Wire(reply(200, SIGNER.certificates)) as mended:
        assert checked(mended, SIGNER.header(), store).email == SENDER
    # httplib2 itself asks a second time when a GET's answer is dropped.
    assert asked <= 2


def test_a_failed_refetch_keeps_the_certificates_that_are_fresh() -> None:
    clock = Clock()
    store = CertificateStore(timeout_s=5, clock=clock)
    with Wire(reply(200, SIGNER.certificates), reply(500)) as wire:
        checked(wire, SIGNER.header(), store)
        clock.now += QUIET_S
        with pytest.raises(Forbidden):
            checked(wire, LATER.header(), store)
        assert checked(wire, SIGNER.header(), store).email == SENDER
