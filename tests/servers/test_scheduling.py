"""Long tests come first, and what shares a server or a module's fixture stays together."""

import pytest

from tests.house import ROOT
from tests.servers.scheduling import LONG_FIRST, ONE_BY_ONE, TOGETHER, rank, unit_of


def test_every_place_exists() -> None:
    assert [place for place in {*LONG_FIRST, *ONE_BY_ONE, *TOGETHER} if not (ROOT / place).exists()] == []


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
