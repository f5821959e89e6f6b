import statistics
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.contest import Contest, Target, best, rotated, take_turns

RATES = st.lists(st.floats(0.1, 1e6), min_size=1, max_size=9)


@given(RATES, st.sampled_from(["higher", "lower"]))
def test_the_ratio_says_how_many_times_better_ours_is(peer: list[float], better: str) -> None:
    twice = tuple(rate * 2 for rate in peer)
    result = Contest("a", twice, tuple(peer), better="higher" if better == "higher" else "lower").result()
    assert result["ratio"] == result["min"] == result["max"] == (2.0 if better == "higher" else 0.5)


def test_the_ratio_is_of_medians_and_the_spread_of_rounds() -> None:
    result = Contest("a", (10.0, 30.0, 20.0), (10.0, 10.0, 5.0)).result()
    assert (result["ours"], result["peer"], result["ratio"]) == (20.0, 10.0, 2.0)
    assert (result["min"], result["max"]) == (1.0, 4.0)
    assert result["rounds"] == {"ours": [10.0, 30.0, 20.0], "peer": [10.0, 10.0, 5.0]}


def test_without_a_peer_there_is_no_ratio_and_no_target_of_it_is_kept() -> None:
    targets = (Target("ours", "at most", 5), Target("ratio", "at least", 1))
    result = Contest("a", (3.0,), unit="s", better="lower", targets=targets).result()
    assert (result["ours"], result["peer"], result["ratio"], result["min"]) == (3.0, None, None, None)
    assert result["targets"] == [
        {"of": "ours", "bound": "at most", "value": 5, "met": True},
        {"of": "ratio", "bound": "at least", "value": 1, "met": False},
    ]


@pytest.mark.parametrize(
    ("target", "ours", "met"),
    [
        (Target("ratio", "at least", 10), 100.0, True),
        (Target("ratio", "at least", 10), 99.0, False),
        (Target("ours", "at least", 20_000), 20_000.0, True),
        (Target("ours", "at most", 120), 120.5, False),
    ],
)
def test_a_target_is_kept_at_its_bound(target: Target, ours: float, met: bool) -> None:
    assert Contest("a", (ours,), (10.0,), targets=(target,)).result()["targets"] == [vars(target) | {"met": met}]


@pytest.mark.parametrize(("facts", "met"), [({"cpu_ratio": 1.8}, True), ({"cpu_ratio": 1.81}, False), ({}, False)])
def test_a_target_may_be_of_a_cost_among_the_facts(facts: dict[str, float], met: bool) -> None:
    target = Target("cpu_ratio", "at most", 1.8)
    result = Contest("a", (1.0,), (1.0,), targets=(target,), facts=facts).result()
    assert result["targets"] == [vars(target) | {"met": met}]


def test_a_figure_keeps_four_digits() -> None:
    result = Contest("a", (123456.789,), (0.0123456,)).result()
    assert (result["ours"], result["peer"]) == (123500.0, 0.01235)


def test_all_run_in_every_round_and_each_round_begins_with_another() -> None:
    order: list[str] = []

    def runner(name: str) -> Callable[[], float]:
        def run() -> float:
            order.append(name)
            return float(len(order))

        return run

    rounds = take_turns({name: runner(name) for name in "abc"}, 3)
    assert order == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]
    assert rounds.figures == {"a": (1.0, 6.0, 8.0), "b": (2.0, 4.0, 9.0), "c": (3.0, 5.0, 7.0)}
    assert not rounds.dropped


def test_who_fails_drops_out_with_the_reason_and_the_others_go_on() -> None:
    tries = iter([1.0])

    def failing() -> float:
        for figure in tries:
            return figure
        raise RuntimeError("a trace\nwith its reason last")

    lines: list[str] = []
    rounds = take_turns({"good": lambda: 2.0, "bad": failing}, 3, lines.append)
    assert rounds.figures == {"good": (2.0, 2.0, 2.0), "bad": (1.0,)}
    assert rounds.dropped == {"bad": "RuntimeError: with its reason last"}
    assert sum("dropped" in line for line in lines) == 1


def test_a_mistake_of_ours_is_not_taken_for_a_failure_of_a_peer() -> None:
    with pytest.raises(ZeroDivisionError):
        take_turns({"bad": lambda: 1 / 0}, 1)


@given(st.dictionaries(st.sampled_from("abcd"), RATES.map(tuple)), st.lists(st.sampled_from("abcd")))
def test_the_best_has_the_highest_median_of_those_that_ran(
    figures: dict[str, tuple[float, ...]], names: list[str]
) -> None:
    chosen = best(figures, names)
    ran = [name for name in names if name in figures]
    assert (chosen is None) == (not ran)
    if chosen:
        assert chosen in ran
        assert all(statistics.median(figures[chosen]) >= statistics.median(figures[name]) for name in ran)


@given(st.lists(st.integers()), st.integers(0, 20))
def test_rotation_loses_nobody(names: list[int], turn: int) -> None:
    assert sorted(rotated([str(name) for name in names], turn)) == sorted(map(str, names))
    assert rotated([], turn) == []
