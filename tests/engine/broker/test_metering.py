"""Calls are counted in one place for the whole fleet; a full window refuses, and a place that is away does not."""

from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from domain.jobs.failures import CallState, Invalid, Scope, Throttled
from engine.broker.metering import Meters
from engine.runtime import Runtime
from sandbox.servers.valkey_server import ValkeyServer
from settings import Settings
from tests.doubles.factories import make_settings

FEW = {"graph.mailbox": 3, "gmail.user": 30, "anthropic.requests": 2}


def calls_until_refused(meters: Meters, provider: str, account: str = "", units: int = 1) -> tuple[int, Throttled]:
    """How many calls a meter lets through, and how it refuses the next."""
    meter = meters.meter(provider, account)
    for made in range(100):
        try:
            meter("a.method", units)
        except Throttled as refusal:
            return made, refusal
    raise AssertionError("the meter never refuses")


@pytest.fixture(params=["valkey", "memory"])
def url(request: pytest.FixtureRequest) -> str | None:
    """Where is counted."""
    return str(request.getfixturevalue("broker_url")) if request.param == "valkey" else None


@pytest.fixture
def meters(url: str | None) -> Meters:
    return Meters(url, FEW)


def test_a_window_takes_what_the_limit_allows_and_no_more(meters: Meters) -> None:
    made, refusal = calls_until_refused(meters, "gmail", "account-1", units=10)
    assert made == 3
    assert (refusal.scope, refusal.provider, refusal.code) == (Scope.ACCOUNT, "gmail", "limit.gmail.user")
    assert refusal.call_state is CallState.NOT_DONE
    assert timedelta(0) < refusal.retry_after <= timedelta(minutes=2)


def test_a_refused_call_takes_nothing(meters: Meters) -> None:
    meter = meters.meter("gmail", "account-1")
    meter("a.method", 25)
    with pytest.raises(Throttled):
        meter("a.method", 10)
    meter("a.method", 5)


def test_a_call_that_the_accounts_window_refuses_takes_nothing_of_the_installations(url: str | None) -> None:
    meters = Meters(url, {"gmail.user": 30, "gmail.project": 50})
    full, other = meters.meter("gmail", "account-1"), meters.meter("gmail", "account-2")
    full("a.method", 25)
    for _ in range(10):
        with pytest.raises(Throttled, match=r"gmail\.user"):
            full("a.method", 10)
    other("a.method", 25)


def test_a_call_that_the_installations_window_refuses_takes_nothing_of_the_accounts(url: str | None) -> None:
    meters = Meters(url, {"gmail.user": 30, "gmail.project": 50})
    first, second = meters.meter("gmail", "account-1"), meters.meter("gmail", "account-2")
    first("a.method", 30)
    for _ in range(10):
        with pytest.raises(Throttled, match=r"gmail\.project"):
            second("a.method", 25)
    second("a.method", 20)


def test_accounts_do_not_share_a_window(meters: Meters) -> None:
    calls_until_refused(meters, "gmail", "account-1", units=10)
    assert calls_until_refused(meters, "gmail", "account-2", units=10)[0] == 3


def test_orgs_with_keys_of_their_own_do_not_share_a_window(meters: Meters) -> None:
    made, refusal = calls_until_refused(meters, "graph", "org-1")
    assert (made, refusal.scope, refusal.provider) == (3, Scope.ORG_PROVIDER, "graph")
    assert calls_until_refused(meters, "graph", "org-2")[0] == 3


def test_an_installations_limit_reaches_everybody(meters: Meters) -> None:
    made, refusal = calls_until_refused(meters, "anthropic")
    assert (made, refusal.scope, refusal.provider) == (2, Scope.PROVIDER, "anthropic")


def test_a_call_that_is_dearer_than_the_window_goes_when_the_window_is_empty(meters: Meters) -> None:
    made, _ = calls_until_refused(meters, "gmail", "account-1", units=100)
    assert made == 1


def test_processes_count_together_and_memories_do_not(broker_url: str) -> None:
    calls_until_refused(Meters(broker_url, FEW), "anthropic")
    assert calls_until_refused(Meters(broker_url, FEW), "anthropic")[0] == 0
    assert calls_until_refused(Meters(None, FEW), "anthropic")[0] == 2


def test_calls_go_on_uncounted_while_the_counting_place_is_away(tmp_path: Path) -> None:
    with ValkeyServer(tmp_path / "valkey") as server:
        meters = Meters(server.url(), FEW)
        calls_until_refused(meters, "anthropic")
        assert meters.diagnosis() is None
        server.stop()
        assert meters.diagnosis() is not None
        meter = meters.meter("anthropic")
        with capture_logs() as logs:
            for _ in range(10):
                meter("a.method", 1)
    logged = [(entry["event"], entry["limit"]) for entry in logs]
    assert logged == [("calls_not_counted", "anthropic.requests")], "logged once, not at each call"


def test_a_provider_without_written_limits_has_no_meter(meters: Meters) -> None:
    with pytest.raises(Invalid):
        meters.meter("somebody new")


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({"broker_url": "redis://one/0"}, "redis://one/0"),
        ({"broker_url": "redis://one/0", "limits_url": "redis://two/0"}, "redis://two/0"),
        ({"broker_url": "amqp://one"}, None),
        ({"broker_url": "amqp://one", "limits_url": "redis://two/0"}, "redis://two/0"),
    ],
)
def test_the_broker_counts_if_it_can_and_nothing_else_is_set(settings: dict[str, str], url: str | None) -> None:
    assert make_settings(**settings).counting_url == url


def test_a_process_does_not_start_with_a_limit_that_nobody_knows(settings: Settings) -> None:
    with pytest.raises(Invalid, match=r"rate_limits: gmail\.usr .*gmail\.user"):
        Runtime(settings.model_copy(update={"rate_limits": {"gmail.usr": 5}}))
