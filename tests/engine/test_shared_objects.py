"""What the threads of a process share is made once, and made anew after a fork."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection

import pytest

from engine.runtime import Runtime, runtime
from settings import Settings


class Client:
    """Knows which process made it."""

    def __init__(self) -> None:
        self.made_by = os.getpid()


@pytest.fixture
def alone() -> Iterator[Runtime]:
    """A runtime that connects to nothing."""
    made = Runtime(Settings())
    yield made
    made.close()


def test_the_threads_of_a_process_share_one_object_per_key(alone: Runtime) -> None:
    together = threading.Barrier(4)
    made: list[Client] = []

    def make() -> Client:
        made.append(Client())
        return made[-1]

    def ask(_number: int) -> Client:
        together.wait(10)
        return alone.shared("model", make)

    with ThreadPoolExecutor(4) as threads:
        got = list(threads.map(ask, range(4)))
    assert got == made * 4
    assert alone.shared("mailbox", make) is not made[0]


def test_what_could_not_be_made_is_tried_again(alone: Runtime) -> None:
    def fail() -> Client:
        raise ValueError("no key")

    with pytest.raises(ValueError, match="no key"):
        alone.shared("model", fail)
    assert isinstance(alone.shared("model", Client), Client)


def test_making_one_object_may_need_another(alone: Runtime) -> None:
    assert alone.shared("outer", lambda: [alone.shared("inner", Client)]) == [alone.shared("inner", Client)]


def _fork_and_tell(answers: Connection) -> None:
    """Share a client, fork, and send what the child gets, and then what the parent has."""
    before = runtime().shared("model", Client)
    child = os.fork()
    got = runtime().shared("model", Client)
    answers.send((os.getpid(), got.made_by, got is before))
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def test_a_forked_child_makes_its_own() -> None:
    context = get_context("spawn")
    received, sent = context.Pipe(duplex=False)
    parent = context.Process(target=_fork_and_tell, args=(sent,))
    parent.start()
    sent.close()
    told = {}
    for _ in range(2):
        assert received.poll(30)
        pid, *facts = received.recv()
        told[pid] = facts
    parent.join(30)
    assert parent.exitcode == 0
    assert parent.pid is not None
    assert told.pop(parent.pid) == [parent.pid, True]
    ((child, facts),) = told.items()
    assert facts == [child, False]
