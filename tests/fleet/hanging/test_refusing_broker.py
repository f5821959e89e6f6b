"""A broker that answers and refuses is waited for as one that is away: its worker lives, and so do its claims."""

from collections.abc import Callable
from typing import Any

import psutil
import pytest
import redis

from sandbox.servers.free_port import LOOPBACK
from sandbox.servers.valkey_server import ValkeyServer
from tests.cluster.nodes import WorkerNode
from tests.doubles import probe_jobs
from tests.doubles.probe_jobs import Noop, Visit
from tests.fleet.fleet import Fleet
from tests.waiting import eventually

ENDED_WITH_RUNNING_JOBS = 1
TALKATIVE = ("--include", probe_jobs.__name__)
"""As an operator starts a worker: it asks its neighbours, and sends heartbeats."""
LOGIN, PASSWORD = "fleet", "hunter2hunter2"
RIGHTS = ("on", f">{PASSWORD}", "+@all", "~*", "&*")

Change = Callable[[Any], Any]


def set_user(server: Any, *rights: str) -> None:  # noqa: ANN401 - redis types its commands as sync or async at once
    server.execute_command("ACL", "SETUSER", LOGIN, *rights)


CHANGES: dict[str, tuple[Change, Change, str]] = {
    "a replica": (
        lambda server: server.replicaof(LOOPBACK, 1),
        lambda server: server.execute_command("REPLICAOF", "NO", "ONE"),
        "takes no writes: it is a replica: ",
    ),
    "full": (
        lambda server: server.config_set("maxmemory", "1"),
        lambda server: server.config_set("maxmemory", "0"),
        "takes no writes: its memory is full: ",
    ),
    "no channels": (
        lambda server: set_user(server, "resetchannels"),
        lambda server: set_user(server, "&*"),
        "refuses: ",
    ),
    "no scripts": (
        lambda server: set_user(server, "-@scripting"),
        lambda server: set_user(server, "+@all"),
        "refuses: ",
    ),
    "no commands": (
        lambda server: set_user(server, "-@all", "+@connection", "+info"),
        lambda server: set_user(server, "+@all"),
        "refuses: ",
    ),
}


@pytest.fixture
def server(own_valkey: ValkeyServer) -> Any:  # noqa: ANN401 - as above
    """Its administrator's connection."""
    with redis.Redis.from_url(own_valkey.url()) as made:
        set_user(made, *RIGHTS)
        yield made


def tracebacks(worker: WorkerNode) -> list[str]:
    """The errors of its log with one; Celery's `Frequent restarts` is among them.

    kombu warns with one when it cannot prolong what the broker knows of this worker, and tries again.
    """
    lines = [line for line in worker.logs().splitlines() if "Traceback" in line]
    return [line for line in lines if '"level": "warning"' not in line]


def url(own_valkey: ValkeyServer) -> str:
    return f"redis://{LOGIN}:{PASSWORD}@{LOOPBACK}:{own_valkey.port}/0"


@pytest.mark.parametrize("change", CHANGES)
def test_a_worker_that_begins_waits_for_a_broker_that_refuses(
    fleet_with_own_broker: Fleet, own_valkey: ValkeyServer, server: redis.Redis, change: str
) -> None:
    fleet = fleet_with_own_broker
    spoil, mend, cause = CHANGES[change]
    spoil(server)
    worker = fleet.worker(options=TALKATIVE, POSTROOM_BROKER_URL=url(own_valkey))
    said = f'"cause": "{cause}'
    eventually(lambda: worker.logs().count(said) > 1, within=40, describe="two tries")
    open_files = psutil.Process(worker.pid).num_fds()
    eventually(lambda: worker.logs().count(said) > 4, within=40, describe="three more tries")
    assert psutil.Process(worker.pid).num_fds() <= open_files + 1, "no try leaves its sockets open"
    mend(server)
    worker.ready()
    assert fleet.wait_for_end([fleet.enqueue(Noop())]) == {"succeeded": 1}
    assert tracebacks(worker) == []
    assert PASSWORD not in worker.logs()
    assert worker.alive
    fleet.check()


@pytest.mark.parametrize("pool", ["threads", "prefork"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_worker_outlives_a_broker_that_begins_to_refuse(
    fleet_with_own_broker: Fleet, own_valkey: ValkeyServer, server: redis.Redis, change: str, pool: str
) -> None:
    fleet = fleet_with_own_broker
    spoil, mend, _ = CHANGES[change]
    worker = fleet.worker(pool=pool, options=TALKATIVE, POSTROOM_BROKER_URL=url(own_valkey))
    worker.ready()
    running = fleet.enqueue(Visit(gate="go"))
    fleet.wait_for_line("waits")
    spoil(server)
    server.client_kill_filter(_type="normal", skipme=True)
    worker.wait_for_log("broker_unavailable")
    fleet.outside.open_gate("go")
    assert fleet.wait_for_end([running]) == {"succeeded": 1}
    mend(server)
    assert fleet.wait_for_end([fleet.enqueue(Noop())]) == {"succeeded": 1}
    assert fleet.ask("select attempt from jobs where id = %s", running) == [(1,)]
    assert tracebacks(worker) == []
    assert worker.alive
    fleet.check()


def test_a_worker_that_waited_for_messages_outlives_a_failover(
    fleet_with_own_broker: Fleet, server: redis.Redis
) -> None:
    """Its request is answered with an error of its own kind: UNBLOCKED."""
    fleet = fleet_with_own_broker
    spoil, mend, cause = CHANGES["a replica"]
    worker = fleet.worker()
    worker.ready()
    spoil(server)
    worker.wait_for_log(f'"cause": "{cause}')
    mend(server)
    assert fleet.wait_for_end([fleet.enqueue(Noop())]) == {"succeeded": 1}
    assert tracebacks(worker) == []
    fleet.check()


@pytest.mark.parametrize("change", ["no channels", "full"])
def test_a_refusal_on_connections_that_stand_is_logged_without_tracebacks(
    fleet_with_own_broker: Fleet, own_valkey: ValkeyServer, server: redis.Redis, change: str
) -> None:
    """Heartbeats are published by a timer; messages still come, and take what room they had."""
    fleet = fleet_with_own_broker
    spoil, mend, _ = CHANGES[change]
    worker = fleet.worker(options=TALKATIVE, POSTROOM_BROKER_URL=url(own_valkey))
    worker.ready()
    spoil(server)
    worker.wait_for_log("broker_unavailable")
    mend(server)
    assert fleet.wait_for_end([fleet.enqueue(Noop())]) == {"succeeded": 1}
    assert tracebacks(worker) == []
    assert worker.alive
    fleet.check()


def test_a_worker_ends_within_its_grace_while_its_broker_refuses(
    fleet_with_own_broker: Fleet, own_valkey: ValkeyServer, server: redis.Redis
) -> None:
    fleet = fleet_with_own_broker
    worker = fleet.worker(options=TALKATIVE, POSTROOM_BROKER_URL=url(own_valkey), POSTROOM_SHUTDOWN_GRACE_S="2")
    worker.ready()
    running = fleet.enqueue(Visit(gate="go"))
    fleet.wait_for_line("waits")
    CHANGES["a replica"][0](server)
    worker.wait_for_log("broker_unavailable")
    worker.stop()
    assert worker.exit_status == ENDED_WITH_RUNNING_JOBS
    assert fleet.ask("select state from jobs where id = %s", running) == [("queued",)]
    fleet.outside.open_gate("go")
