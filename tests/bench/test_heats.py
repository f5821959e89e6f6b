"""Which setting of a contender is its best: from a short heat, and from the whole backlog where that cannot tell."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.arena import Arena, Sizes
from bench.contender import Setting
from bench.drain import Heat
from bench.heats import best_of, finalists
from bench.peer_environments import Environments
from bench.stores import Stores

SHORT, WHOLE, BOX_S = 10, 60, 8.0


@pytest.fixture
def arena(stores: Stores, tmp_path: Path) -> Arena:
    return Arena(tmp_path, stores, Environments({}, {}, {}), Sizes(heat_jobs=SHORT), tell=lambda _: None)


class Track:
    """Rates by setting, in a short heat and on the whole backlog; a setting without one fails there."""

    def __init__(self, arena: Arena, short: Mapping[str, float], whole: Mapping[str, float]) -> None:
        self.arena, self.rates = arena, {SHORT: short, WHOLE: whole}
        self.ran: list[tuple[str, int, float]] = []

    def best(self, jobs: int = WHOLE) -> str | None:
        settings = [Setting(label, (("-c", "pass"),), ready=1) for label in self.rates[SHORT]]
        heats = [Heat(self.arena.ours, setting, "noop", jobs, BOX_S) for setting in settings]
        found = best_of(self.arena, "one", heats, self.rate)
        assert found is None or (found.jobs, found.box_s) == (jobs, BOX_S)
        return None if found is None else found.setting.label

    def rate(self, heat: Heat) -> float:
        self.ran.append((heat.setting.label, heat.jobs, heat.box_s))
        rate = self.rates[heat.jobs].get(heat.setting.label, 0.0)
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
def test_who_came_close_and_would_empty_the_backlog_is_in_the_final(
    rates: dict[str, float], expected: list[str]
) -> None:
    assert finalists(rates, WHOLE, BOX_S) == expected


def test_the_whole_backlog_decides_between_those_that_came_close(arena: Arena) -> None:
    track = Track(arena, {"a": 100.0, "b": 90.0, "c": 10.0}, {"a": 50.0, "b": 80.0})
    assert track.best() == "b"
    short = [(label, SHORT, BOX_S / 2) for label in "abc"]
    assert track.ran == [*short, *((label, WHOLE, BOX_S) for label in "abba")]
    assert arena.heats == {"heat of one": {"a": 100.0, "b": 90.0, "c": 10.0}, "final of one": {"a": 50.0, "b": 80.0}}


def test_a_setting_that_is_far_ahead_needs_no_final(arena: Arena) -> None:
    track = Track(arena, {"a": 100.0, "b": 10.0}, {})
    assert (track.best(), len(track.ran)) == ("a", 2)


def test_what_was_found_stands_for_the_run(arena: Arena) -> None:
    track = Track(arena, {"a": 100.0}, {})
    assert (track.best(), track.best(jobs=SHORT)) == ("a", "a")
    assert track.ran == [("a", SHORT, BOX_S / 2)]


def test_who_fails_in_the_final_has_not_won_and_the_reason_is_told(arena: Arena) -> None:
    assert Track(arena, {"a": 100.0, "b": 90.0}, {"b": 80.0}).best() == "b"
    assert arena.skipped == {"final of one: a": "RuntimeError: a bad day"}


def test_when_all_fail_in_the_final_the_heat_decides(arena: Arena) -> None:
    assert Track(arena, {"a": 90.0, "b": 100.0}, {}).best() == "b"


def test_who_never_ran_has_no_setting(arena: Arena) -> None:
    assert Track(arena, {"a": 0.0}, {}).best() is None
    assert arena.skipped == {"heat of one: a": "RuntimeError: a bad day"}
