"""Work in threads: every part once, a few at a time, and nothing begins after a failure."""

from threading import Barrier, Event

import pytest

from engine.process.map_in_threads import map_in_threads


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("parts", [0, 1, 2, 7])
def test_each_part_is_done_once_and_answered_in_its_order(parts: int, threads: int) -> None:
    done: list[int] = []

    def work(part: int) -> int:
        done.append(part)
        return part * part

    assert map_in_threads(work, range(parts), threads) == [part * part for part in range(parts)]
    assert sorted(done) == list(range(parts))


def test_a_part_may_be_nothing() -> None:
    assert map_in_threads(str, [None, 1, None], 2) == ["None", "1", "None"]


def test_threads_run_beside_each_other() -> None:
    together = Barrier(2)
    assert len(map_in_threads(lambda _: together.wait(timeout=10), range(4), 2)) == 4


def test_after_a_failure_nothing_begins_and_what_is_under_way_ends() -> None:
    begun: list[int] = []
    failed, ended = Event(), Event()

    def work(part: int) -> None:
        begun.append(part)
        if part == 1:
            failed.set()
            raise ValueError("part 1")
        assert failed.wait(timeout=10)
        ended.set()

    with pytest.raises(ValueError, match="part 1"):
        map_in_threads(work, range(50), 2)
    assert ended.is_set()
    assert len(begun) < 50


def test_one_thread_stops_at_the_failure() -> None:
    begun: list[int] = []

    def work(part: int) -> None:
        begun.append(part)
        raise ValueError(part)

    with pytest.raises(ValueError, match="0"):
        map_in_threads(work, range(5), 1)
    assert begun == [0]
