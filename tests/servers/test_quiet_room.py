"""The room of a session: shared by its tests, or one test's alone."""

import fcntl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.servers.quiet_room import room
from tests.waiting import eventually


def test_a_quiet_test_waits_for_the_others_and_goes_before_those_that_come_later(tmp_path: Path) -> None:
    inside: list[str] = []

    def visit(name: str, *, alone: bool) -> list[str]:
        with room(tmp_path, alone=alone):
            inside.append(name)
            return list(inside)

    with ThreadPoolExecutor(2) as pool:
        with room(tmp_path, alone=False), room(tmp_path, alone=False):
            quiet = pool.submit(visit, "quiet", alone=True)
            eventually(lambda: waits_at(tmp_path / "door"), within=10, describe="the quiet test never came")
            later = pool.submit(visit, "later", alone=False)
            assert not inside
        assert (quiet.result(), later.result()) == (["quiet"], ["quiet", "later"])


def waits_at(door: Path) -> bool:
    with door.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
