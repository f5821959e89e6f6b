"""A test that measures waits has the machine for itself: the session's other tests end before, and begin after.

The workers of pytest-xdist run their tests side by side, and a bound of half a second would be one of the neighbours.
`@pytest.mark.quiet` asks for the room alone; all other tests share the room.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def room(folder: Path, *, alone: bool) -> Iterator[None]:
    """Stay in the session's room. Who waits for the room keeps those that come later waiting at the door.

    `folder` is the session's own. The locks are given back by name: a process that a test forked keeps the files open.
    """
    with (folder / "door").open("w") as door, (folder / "room").open("w") as inside:
        try:
            fcntl.flock(door, fcntl.LOCK_EX)
            fcntl.flock(inside, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            fcntl.flock(door, fcntl.LOCK_UN)
            yield
        finally:
            fcntl.flock(inside, fcntl.LOCK_UN)
