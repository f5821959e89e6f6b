"""Results on their way to foreign clients, into a Redis that both sides name."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from uuid import UUID, uuid4

import pytest
import redis
from celery import Celery
from celery.exceptions import TaskError, TaskRevokedError
from psycopg import Connection
from pydantic import SecretStr
from sqlalchemy.engine import make_url
from structlog.testing import capture_logs

from domain.jobs.failures import Failure, Permanent
from domain.jobs.job import Cancel, Done, Outcome
from engine.app import FleetApp
from engine.relay.result_sender import ResultSender
from engine.results.ledger_backend import LedgerBackend
from engine.runtime import Runtime, install
from sandbox.servers.free_port import LOOPBACK
from sandbox.servers.tcp_proxy import TcpProxy
from sandbox.servers.valkey_server import ValkeyServer
from settings import Settings
from storage.jobs import results
from storage.postgres.database import Database
from tests.doubles.factories import enqueue_one, make_job_type, make_org
from tests.engine.celery_patches.tls_listener import CLIENT_HELLO, Listener, make_certificate
from tests.fleet.hanging.networks import at_port
from tests.storage.jobs.test_results import end
from tests.waiting import eventually


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store)
    return make_org(database)


@contextmanager
def process(settings: Settings, results_url: str) -> Iterator[Runtime]:
    """A relay's process that sends results there."""
    made = Runtime(settings.model_validate(settings.model_dump() | {"results_url": results_url}))
    install(made)
    yield made
    install(None)
    made.close()


def wanted(store: Database, org: UUID, task_id: str) -> UUID:
    job_id = enqueue_one(store, org)
    with store.ledger() as tx:
        results.ask_for(tx, [(job_id, task_id)], is_sent=True)
    return job_id


def test_a_client_of_celery_s_redis_backend_gets_what_became_of_its_jobs(
    settings: Settings, store: Database, org: UUID, broker_url: str, database: Connection
) -> None:
    tasks = {name: str(uuid4()) for name in ("done", "failed", "canceled")}
    outcomes: dict[str, Outcome | Failure] = {
        "done": Done({"a": 1}),
        "failed": Permanent("no use"),
        "canceled": Cancel("pointless"),
    }
    for name, task_id in tasks.items():
        end(store, wanted(store, org, task_id), outcomes[name])
    with process(settings, broker_url) as relay:
        assert ResultSender(relay).turn() is False
    with Celery("client", broker=broker_url, backend=broker_url, set_as_current=False) as client:
        assert client.AsyncResult(tasks["done"]).get(timeout=5) == {"a": 1}
        with pytest.raises(TaskError, match="no use"):
            client.AsyncResult(tasks["failed"]).get(timeout=5)
        with pytest.raises(TaskRevokedError, match="pointless"):
            client.AsyncResult(tasks["canceled"]).get(timeout=5)
        client.backend.client.close()
    assert database.execute("select count(*) from result_requests where sent_at is null").fetchone() == (0,)
    with redis.Redis.from_url(broker_url) as server:
        assert 0 < server.ttl(f"celery-task-meta-{tasks['done']}") <= 86400


def test_a_server_that_is_away_gets_them_later(
    settings: Settings, store: Database, org: UUID, broker_url: str, database: Connection
) -> None:
    end(store, wanted(store, org, "t"), Done({"a": 1}))
    with process(settings, "redis://127.0.0.1:1/0") as relay:
        sender = ResultSender(relay)
        assert sender.turn() is False
        assert sender.turn() is False
    assert database.execute("select tries, sent_at from result_requests").fetchall() == [(1, None)]
    database.execute("update result_requests set send_at = now()")
    with process(settings, broker_url) as relay:
        ResultSender(relay).turn()
    with redis.Redis.from_url(broker_url) as server:
        assert server.exists("celery-task-meta-t")


def test_a_server_that_takes_a_connection_and_says_nothing_does_not_hold_the_relay(
    settings: Settings, store: Database, org: UUID, broker_url: str
) -> None:
    end(store, wanted(store, org, "t"), Done({"a": 1}))
    with TcpProxy(make_url(broker_url).port or 0) as proxy:
        proxy.stall()
        with process(settings, at_port(broker_url, proxy.port)) as relay:
            turn = Thread(target=ResultSender(relay).turn, daemon=True)
            with capture_logs() as logged:
                turn.start()
                eventually(lambda: not turn.is_alive(), within=30, describe="the turn to end")
        proxy.resume()
    assert [line["event"] for line in logged] == ["results_not_sent"]


@pytest.mark.parametrize("url", ["redis://127.0.0.1:hunter2/0", "rediss://:hunter2@127.0.0.1/0?ssl_cert_reqs=bogus"])
def test_a_url_that_cannot_be_used_ends_no_turn_and_is_not_logged(
    settings: Settings, store: Database, org: UUID, url: str
) -> None:
    end(store, wanted(store, org, "t"), Done({"a": 1}))
    unchecked = Runtime(settings.model_copy(update={"results_url": SecretStr(url)}))
    with capture_logs() as logged:
        assert ResultSender(unchecked).turn() is False
    unchecked.close()
    assert [each["event"] for each in logged] == ["results_not_sent"]
    assert "hunter2" not in str(logged)


def test_a_mistake_of_ours_ends_no_turn_and_is_logged_in_full(
    settings: Settings, store: Database, org: UUID, broker_url: str
) -> None:
    class Unfinished(ResultSender):
        """Has nothing that could name a result."""

        _backend = None

    end(store, wanted(store, org, "t"), Done({"a": 1}))
    with process(settings, broker_url) as relay, capture_logs() as logged:
        assert Unfinished(relay).turn() is False
    assert [(each["event"], each["log_level"], "cause" in each) for each in logged] == [
        ("results_not_sent", "error", False)
    ]


def test_celery_s_own_variable_takes_the_place_of_no_setting(
    settings: Settings, store: Database, org: UUID, broker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CELERY_RESULT_BACKEND", "redis://127.0.0.1:hunter2/0")
    end(store, wanted(store, org, "t"), Done({"a": 1}))
    with process(settings, broker_url) as relay:
        ResultSender(relay).turn()
    with redis.Redis.from_url(broker_url) as server:
        assert server.exists("celery-task-meta-t")
    with FleetApp("beside", set_as_current=False) as app:
        assert isinstance(app.backend, LedgerBackend)


def test_results_go_over_tls_where_the_address_says_so(
    settings: Settings, store: Database, org: UUID, own_valkey: ValkeyServer, database: Connection, tmp_path: Path
) -> None:
    task_ids = ["checked", "taken"]
    for task_id in task_ids:
        end(store, wanted(store, org, task_id), Done({"a": 1}))
    certificate = make_certificate(tmp_path)
    with Listener() as plain, process(settings, f"rediss://:hunter2@{LOOPBACK}:{plain.port}/0") as relay:
        ResultSender(relay).turn()
        assert plain.all_heard.startswith(CLIENT_HELLO)
        assert b"hunter2" not in plain.all_heard
    with Listener(certificate, own_valkey.port) as front:
        url = f"rediss://{LOOPBACK}:{front.port}/0"
        for tail, sent in (("", 0), (f"?ssl_cert_reqs=required&ssl_ca_certs={certificate}", 2)):
            database.execute("update result_requests set send_at = now()")
            with process(settings, url + tail) as relay:
                ResultSender(relay).turn()
            assert database.execute("select count(sent_at) from result_requests").fetchone() == (sent,)
    with redis.Redis.from_url(own_valkey.url()) as server:
        assert server.exists(*(f"celery-task-meta-{task_id}" for task_id in task_ids)) == len(task_ids)


def test_where_no_address_is_set_nothing_is_sent(
    settings: Settings, store: Database, org: UUID, database: Connection
) -> None:
    end(store, wanted(store, org, "t"), Done())
    with process(settings, "") as relay:
        assert ResultSender(relay).turn() is False
    assert database.execute("select tries from result_requests").fetchall() == [(0,)]
