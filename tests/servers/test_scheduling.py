"""Long tests come first, and what shares a server or a module's fixture stays together."""

import pytest

from tests.house.reading import ROOT
from tests.servers.scheduling import (
    GATED,
    LONG,
    LONG_FIRST,
    ONE_BY_ONE,
    TOGETHER,
    leaves_out,
    rank,
    stands_in,
    unit_of,
)


def test_every_place_exists() -> None:
    assert [place for place in {*LONG_FIRST, *GATED, *ONE_BY_ONE, *TOGETHER} if not (ROOT / place).exists()] == []


def test_a_place_of_its_own_goes_before_the_folder_that_it_stands_in() -> None:
    assert rank("tests/fleet/hanging/test_silence.py") < rank("tests/fleet/test_kills.py")
    assert rank("tests/fleet/test_kills.py") < rank("tests/domain/jobs/test_retry.py") == rank("tests/fleets.py")


@pytest.mark.parametrize(
    ("test", "unit"),
    [
        ("tests/fleet/rabbitmq/test_a.py::test_b", "tests/fleet/rabbitmq"),
        ("tests/fleet/test_a.py::test_b[c::d]", "tests/fleet/test_a.py::test_b[c::d]"),
        ("tests/tasks/test_a.py::test_b[c::d]", "tests/tasks/test_a.py"),
    ],
)
def test_the_unit_of_a_test(test: str, unit: str) -> None:
    assert unit_of(test) == unit


@pytest.mark.parametrize("place", ["tests/fleet/test_kills.py", "tests/domain/jobs/test_retry.py", "tests/fleets.py"])
def test_each_file_belongs_to_one_length(place: str) -> None:
    assert [leaves_out(length, place) for length in ("short", "long")].count(True) == 1
    assert not leaves_out(None, place)


def test_a_fleet_takes_long() -> None:
    assert leaves_out("short", "tests/fleet/test_kills.py")


def test_the_gate_takes_what_the_short_run_leaves() -> None:
    assert [place for place in GATED if not stands_in(place, LONG)] == []
    assert not leaves_out("gate", "tests/fleet/test_kills.py")
    assert leaves_out("gate", "tests/fleet/test_frozen.py")
    assert leaves_out("gate", "tests/domain/jobs/test_retry.py")
