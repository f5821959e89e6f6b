"""docker-compose.yml runs as it is written, without a vendor's key: commands, conditions, health checks, stops."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.deploy.compose_file import read_compose
from tests.deploy.compose_images import OURS, STAND_INS, BuiltImage, Image, this_environment
from tests.deploy.compose_network import ComposeNetwork
from tests.deploy.compose_run import ComposeRun
from tests.deploy.image import has_image
from tests.deploy.machine_needs import needs
from tests.deployment import DEPLOY
from tests.waiting import eventually

pytestmark = needs("ip", "setpriv", "prometheus")
ENOUGH_S = 120.0
"""For beat's first ticks and Prometheus' first scrapes, in seconds."""
FINISHED = "Finished server process"
"""uvicorn's last words. It sends itself the signal again then, which does not end the first process of a container."""
KINDS = [
    pytest.param(
        "image", marks=[needs("buildah"), pytest.mark.skipif(not has_image(), reason="make image was not run")]
    ),
    "environment",
]


@pytest.fixture(params=KINDS)
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ComposeRun]:
    """All that the file starts, but for images without a stand-in here."""
    subprocess.run([DEPLOY / "make-secrets", tmp_path / "secrets"], check=True)  # noqa: S603  # our own script
    services = {name: one for name, one in read_compose({}, ["observe"]).items() if name != "grafana"}
    with ExitStack() as stack:
        network = ComposeNetwork(list(services), stack)
        images: dict[str, Image] = {name: make(tmp_path) for name, make in STAND_INS.items()}
        is_built = request.param == "image"
        images[OURS] = BuiltImage(tmp_path, network.hosts(), stack) if is_built else this_environment(tmp_path)
        fleet = ComposeRun(services, images, network, tmp_path)
        fleet.start(stack)
        yield fleet


def test_the_file_starts_without_a_vendors_key_is_well_works_and_stops_in_time(fleet: ComposeRun) -> None:
    workers = [name for name in fleet.services if name.startswith("worker-")]
    doctor = eventually(lambda: ticked(fleet), within=ENOUGH_S, describe="beat's first ticks")
    findings = {one["name"]: one for one in json.loads(doctor)}
    assert [one for one in findings.values() if not one["ok"]] == []
    assert "is off" in findings["push settings"]["finding"]
    assert "is off" in findings["model key"]["finding"]
    succeeded = fleet.run("gateway", "celery", "-A", "tasks", "jobs", "list", "--state", "succeeded", "--json")[1]
    assert json.loads(succeeded)
    eventually(lambda: scraped(fleet) == {"1"}, within=ENOUGH_S, describe="Prometheus to reach every process")
    stopped = fleet.stop()
    unclean = {name: fleet.log(name)[-1000:] for name, status in stopped.items() if status != 0}
    assert [name for name, log in unclean.items() if FINISHED not in log] == [], unclean
    assert set(workers) <= set(stopped)


def ticked(fleet: ComposeRun) -> str:
    """What the doctor says once he finds no fault; nothing before."""
    status, said = fleet.run("gateway", "celery", "-A", "tasks", "doctor", "--json")
    return said if status == 0 else ""


def scraped(fleet: ComposeRun) -> set[str]:
    """Whether Prometheus reaches the processes that its file names, `1` for one that it reaches."""
    query = "http://127.0.0.1:9090/api/v1/query?query=up"
    found = json.loads(fleet.run("prometheus", "wget", "-q", "-O", "-", query)[1])["data"]["result"]
    return {one["value"][1] for one in found}
