"""The local stack starts a worker for every queue, in an environment that our settings can read."""

import sys
from pathlib import Path

import pytest

from domain.jobs.queues import Queue
from sandbox.demo.addresses import Addresses
from sandbox.demo.processes import WORKERS, Died, Member, get_status
from sandbox.servers.child_process import ChildProcess, Command
from sandbox.servers.free_port import LOOPBACK, find_free_port
from settings import PREFIX, Settings

ADDRESSES = Addresses.choose(database="postgresql://postgres@127.0.0.1:1/postroom", broker="redis://127.0.0.1:2/0")


def test_every_queue_has_exactly_one_worker() -> None:
    assert sorted(queue for worker in WORKERS for queue in worker.queues) == sorted(queue.value for queue in Queue)


def test_both_pools_are_shown() -> None:
    assert {worker.pool for worker in WORKERS} == {"threads", "prefork"}


def test_every_variable_is_a_setting() -> None:
    names = {name.removeprefix(PREFIX).lower() for name in ADDRESSES.environment()}
    assert names <= set(Settings.model_fields)
    assert all(name.startswith(PREFIX) for name in ADDRESSES.environment())


def test_every_address_is_another_one_on_the_loopback() -> None:
    names = ("gmail", "anthropic", "discord", "resend", "microsoft", "s3", "gateway", "flower")
    urls = [getattr(ADDRESSES, name) for name in names]
    assert len(set(urls)) == len(urls)
    assert all(url.startswith(f"http://{LOOPBACK}:") for url in urls)


def test_a_member_that_ended_is_named(tmp_path: Path) -> None:
    process = ChildProcess(Command([sys.executable, "-c", "raise SystemExit(3)"]), log=tmp_path / "short.log")
    member = Member("short", process, lambda _: False)
    process.start()
    process.wait(within=20)
    with pytest.raises(Died, match="short ended by itself with status 3"):
        member.ready()
    process.stop()


def test_nobody_there_is_no_status() -> None:
    assert get_status(f"http://{LOOPBACK}:{find_free_port()}/") is None
