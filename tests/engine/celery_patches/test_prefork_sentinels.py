"""A prefork pool's children in the event loop: those that Celery would stumble over are watched again."""

import os
from types import SimpleNamespace

import pytest
from celery.concurrency.asynpool import AsynPool
from kombu.asynchronous import Hub

from engine.celery_patches.prefork_sentinels import watch_again


def test_a_child_whose_end_was_seen_too_early_is_watched_again() -> None:
    hub, ended = Hub(), []
    sentinel, held_by_child = os.pipe()
    child = SimpleNamespace(_popen=SimpleNamespace(sentinel=sentinel))
    pool = SimpleNamespace(_pool=[child], _event_process_exit=lambda _hub, child: ended.append(child))
    watch, forget = AsynPool._track_child_process, AsynPool._untrack_child_process  # noqa: SLF001 - where it stumbles
    watch(pool, child, hub)
    os.close(held_by_child)
    # As Celery does when the pipe is closed already and the child's status cannot be read yet.
    forget(pool, child, hub)
    with pytest.raises(ValueError, match="file descriptor is None"):
        watch(pool, child, hub)
    watch_again(SimpleNamespace(_pool=pool))
    watch(pool, child, hub)
    next(hub.create_loop())
    assert ended == [child]
    forget(pool, child, hub)
    os.close(sentinel)
    hub.close()


def test_a_child_that_is_watched_and_a_pool_without_children_are_left_alone() -> None:
    child = SimpleNamespace(_sentinel_poll=7)
    watch_again(SimpleNamespace(_pool=SimpleNamespace(_pool=[child])))
    assert child == SimpleNamespace(_sentinel_poll=7)
    watch_again(SimpleNamespace(_pool=None))
