"""A contender's best setting comes from a short tuning round, or from the whole backlog where that cannot tell."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.contenders.contender import Setting
from bench.contenders.peer_environments import Environments
from bench.drain import DrainRun
from bench.setup import Setup, Sizes
from bench.stores import Stores
from bench.tuning import best_setting, close_to_fastest

SHORT, WHOLE, TIME_LIMIT_S = 10, 60, 8.0


@pytest.fixture
def setup(stores: Stores, tmp_path: Path) -> Setup:
    return Setup(tmp_path, stores, Environments({}, {}, {}), Sizes(tuning_jobs=SHORT), print_line=lambda _: None)


class ScriptedRates:
    """Rates by setting, in a short tuning round and on the whole backlog; a setting without a rate fails there."""

    def __init__(self, setup: Setup, short: Mapping[str, float], whole: Mapping[str, float]) -> None:
        self.setup, self.rates = setup, {SHORT: short, WHOLE: whole}
        self.ran: list[tuple[str, int, float]] = []

    def best(self, jobs: int = WHOLE) -> str | None:
        settings = [Setting(label, (("-c", "pass"),), ready=1) for label in self.rates[SHORT]]
        tuning_rounds = [DrainRun(self.setup.ours, setting, "noop", jobs, TIME_LIMIT_S) for setting in settings]
        found = best_setting(self.setup, "one", tuning_rounds, self.rate)
        assert found is None or (found.jobs, found.time_limit_s) == (jobs, TIME_LIMIT_S)
        return None if found is None else found.setting.label

    def rate(self, run: DrainRun) -> float:
        self.ran.append((run.setting.label, run.jobs, run.time_limit_s))
        rate = self.rates[run.jobs].get(run.setting.label, 0.0)
        if not rate:
            raise RuntimeError("a bad day")
        return rate


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ({"a": 100.0, "b": 61.0, "c": 59.0}, ["a", "b"]),
        ({"a": 7.5, "b": 7.4}, ["a"]),
        ({"a": 7.0, "b": 7.4}, []),
        ({}, []),
    ],
    ids=["far below the fastest", "too slow for the whole backlog", "all too slow", "none ran"],
)
def test_a_setting_that_came_close_and_would_empty_the_backlog_is_in_the_final_round(
    rates: dict[str, float], expected: list[str]
) -> None:
    assert close_to_fastest(rates, WHOLE, TIME_LIMIT_S) == expected


def test_the_whole_backlog_decides_between_those_that_came_close(setup: Setup) -> None:
    rates_of = ScriptedRates(setup, {"a": 100.0, "b": 90.0, "c": 10.0}, {"a": 50.0, "b": 80.0})
    assert rates_of.best() == "b"
    short = [(label, SHORT, TIME_LIMIT_S / 2) for label in "abc"]
    assert rates_of.ran == [*short, *((label, WHOLE, TIME_LIMIT_S) for label in "abba")]
    assert setup.tuning_rounds == {
        "tuning round of one": {"a": 100.0, "b": 90.0, "c": 10.0},
        "final tuning round of one": {"a": 50.0, "b": 80.0},
    }


def test_a_setting_that_is_far_ahead_needs_no_final_round(setup: Setup) -> None:
    rates_of = ScriptedRates(setup, {"a": 100.0, "b": 10.0}, {})
    assert (rates_of.best(), len(rates_of.ran)) == ("a", 2)


def test_the_best_setting_is_kept_for_the_run(setup: Setup) -> None:
    rates_of = ScriptedRates(setup, {"a": 100.0}, {})
    assert (rates_of.best(), rates_of.best(jobs=SHORT)) == ("a", "a")
    assert rates_of.ran == [("a", SHORT, TIME_LIMIT_S / 2)]


def test_a_setting_that_fails_in_the_final_round_has_not_won_and_the_reason_is_noted(setup: Setup) -> None:
    assert ScriptedRates(setup, {"a": 100.0, "b": 90.0}, {"b": 80.0}).best() == "b"
    assert setup.skipped == {"final tuning round of one: a": "RuntimeError: a bad day"}


def test_when_all_fail_in_the_final_round_the_first_round_decides(setup: Setup) -> None:
    assert ScriptedRates(setup, {"a": 90.0, "b": 100.0}, {}).best() == "b"


def test_a_contender_that_never_ran_has_no_setting(setup: Setup) -> None:
    assert ScriptedRates(setup, {"a": 0.0}, {}).best() is None
    assert setup.skipped == {"tuning round of one: a": "RuntimeError: a bad day"}
