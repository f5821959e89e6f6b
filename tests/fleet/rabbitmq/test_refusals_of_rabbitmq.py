"""A RabbitMQ that answers and does not serve is named by doctor, with its cause, and waited for by workers."""

import json
from uuid import uuid4

import pytest
from pydantic import SecretStr

from commands.doctor import broker_check, examine
from engine.runtime import Runtime
from sandbox.servers.rabbitmq_server import RabbitServer
from settings import Settings
from tests.fleet.fleet import Fleet
from tests.waiting import eventually


def at(settings: Settings, url: str) -> Settings:
    return settings.model_copy(update={"broker_url": SecretStr(url)})


def test_an_alarm_is_named_and_passes(settings: Settings, rabbit: RabbitServer) -> None:
    process = Runtime(at(settings, rabbit.url()))
    assert broker_check(process.settings).ok
    rabbit.set_memory_alarm(on=True)
    try:
        told = {check.name: check for check in examine(process)}
    finally:
        rabbit.set_memory_alarm(on=False)
    assert told["broker"].finding.startswith("takes no messages: connection blocked")
    assert "rabbitmq-diagnostics alarms" in told["broker"].remedy
    assert "the broker takes no messages" in told["workers"].finding
    assert broker_check(process.settings).ok
    process.close()


@pytest.mark.parametrize(("path", "password"), [("nothere", "guest"), ("/", "hunter2")], ids=["virtual host", "login"])
def test_a_refused_login_or_virtual_host_is_named(
    settings: Settings, rabbit: RabbitServer, path: str, password: str
) -> None:
    url = rabbit.url(host=path).replace("guest:guest", f"guest:{password}")
    check = broker_check(at(settings, url))
    assert (check.ok, check.finding.startswith("refuses: ")) == (False, True)
    assert "hunter2" not in str(check)


@pytest.mark.parametrize("mistake", ["password", "virtual host"])
def test_a_worker_that_rabbitmq_refuses_says_so_once_each_try(
    fleet_on_rabbitmq: Fleet, rabbit: RabbitServer, mistake: str
) -> None:
    """RabbitMQ's 403 and 530: Celery made a new connection at once, and again."""
    fleet = fleet_on_rabbitmq
    host = f"later{uuid4().hex}"
    url = rabbit.url(host=host) if mistake == "virtual host" else fleet.broker_url.replace("guest@", "hunter2@")
    worker = fleet.worker(POSTROOM_BROKER_URL=url)
    said = '"cause": "refuses: '
    eventually(lambda: worker.logs().count(said) > 1, within=30, describe="two tries")
    lines = [line for line in worker.logs().splitlines() if "engine.worker.consumer" in line]
    assert all(json.loads(line)["again_in_s"] for line in lines), "each is followed by a pause"
    for word in ("Traceback", "Frequent restarts", "Cannot connect", "hunter2"):
        assert word not in worker.logs()
    if mistake == "virtual host":
        rabbit.add_virtual_host(host)
        worker.ready()
    assert worker.alive
