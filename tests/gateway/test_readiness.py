"""Probes are answered before they give up, and one examination at a time serves them all."""

import subprocess
import sys
from collections.abc import Sequence
from threading import Event

from gateway.readiness import Readiness
from storage.postgres.readiness import Check, silent_checks

UNDER_WAY = """
from threading import Event
from gateway.readiness import Readiness
Readiness(Event().wait, (), within_s=0.01).checks()
"""
FOUND = (Check("ledger role", ok=True, finding="logged in"),)


def test_an_examination_that_takes_long_is_not_waited_for_and_not_begun_twice() -> None:
    answered, begun = Event(), list[int]()

    def examine() -> Sequence[Check]:
        begun.append(1)
        answered.wait()
        return FOUND

    readiness = Readiness(examine, silent_checks(), within_s=0.01)
    for _ in range(2):
        assert [check.ok for check in readiness.checks()] == [False] * 4
    assert len(begun) == 1
    answered.set()


def test_each_who_asks_after_an_examination_gets_another() -> None:
    begun = list[int]()

    def examine() -> Sequence[Check]:
        begun.append(1)
        return FOUND

    readiness = Readiness(examine, silent_checks())
    assert readiness.checks() == readiness.checks() == FOUND
    assert len(begun) == 2


def test_a_process_ends_although_an_examination_has_no_end() -> None:
    subprocess.run([sys.executable, "-c", UNDER_WAY], check=True, timeout=60)  # noqa: S603 - a program of this test


def test_what_is_said_meanwhile_names_the_database_and_what_to_do() -> None:
    first, *others = silent_checks()
    assert (first.finding, first.is_away) == ("PostgreSQL: it did not answer", True)
    assert all(check.remedy == "mend the database first" for check in others)
