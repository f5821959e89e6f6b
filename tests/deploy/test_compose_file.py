"""The reader of Compose files does as Compose does, and the runner fails where Compose would."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.deploy.compose_file import Health, Service, read_compose, seconds
from tests.deploy.compose_images import PROGRAMS, Programs
from tests.deploy.compose_network import ComposeNetwork
from tests.deploy.compose_run import ComposeRun
from tests.deploy.machine_needs import needs
from tests.deployment import services

WELL = Health(("true",), interval_s=0.1, timeout_s=5, start_period_s=0, retries=3)
ENDLESS = "while :; do sleep 0.1; done"


def test_every_service_is_read_with_what_it_says() -> None:
    found = read_compose({}, ["observe"])
    assert set(found) == set(services())
    worker = found["worker-critical"]
    assert worker.stop_within_s == 90
    assert worker.waits == {"migrate": "service_completed_successfully", "valkey": "service_healthy"}
    assert worker.health is not None
    assert worker.health.patience_s == 60 + 6 * (10 + 10)
    assert worker.mounts["/run/secrets/ledger_url"] == "secrets/ledger_url"
    assert worker.mounts["/var/lib/postroom/artifacts"] == "artifacts"
    assert "POSTROOM_PUBLIC_URL" not in worker.environment
    assert "FLOWER_BASIC_AUTH=$(cat " in found["flower"].command[2]


def test_values_come_from_outside_and_a_profile_is_left_out_unless_it_is_asked_for() -> None:
    found = read_compose({"POSTROOM_PUBLIC_URL": "https://mail.example.org"})
    assert found["gateway"].environment["POSTROOM_PUBLIC_URL"] == "https://mail.example.org"
    assert {"prometheus", "grafana"} & set(found) == set()


@pytest.mark.parametrize(("text", "found"), [("90s", 90), ("1m30s", 90), ("500ms", 0.5), ("2h", 7200)])
def test_a_time_is_read(text: str, found: float) -> None:
    assert seconds(text) == found


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[tuple[ComposeNetwork, Path, ExitStack]]:
    with ExitStack() as stack:
        yield ComposeNetwork(["one", "two"], stack), tmp_path, stack


def make(name: str, script: str) -> Service:
    return Service(name, "any", ("sh", "-c", script), {}, {}, {}, WELL, 10)


@needs("ip")
class TestRun:
    """Two services that do as a script says."""

    def run(self, machine: tuple[ComposeNetwork, Path, ExitStack], *found: Service) -> ComposeRun:
        network, folder, stack = machine
        run = ComposeRun({one.name: one for one in found}, {"any": Programs(folder, PROGRAMS)}, network, folder)
        run.start(stack)
        return run

    def test_services_are_well_find_each_other_and_stop(self, machine: tuple[ComposeNetwork, Path, ExitStack]) -> None:
        finds = replace(WELL, test=("grep", "-q", "two", "/etc/hosts"))
        one = replace(make("one", ENDLESS), health=finds, waits={"two": "service_healthy"})
        run = self.run(machine, one, make("two", "trap 'exit 0' TERM; " + ENDLESS))
        assert run.run("one", "getent", "hosts", "two")[1].split()[1] == "two"
        assert run.stop() == {"one": -15, "two": 0}

    def test_a_service_that_is_never_well_is_found(self, machine: tuple[ComposeNetwork, Path, ExitStack]) -> None:
        ill = replace(make("one", ENDLESS), health=replace(WELL, test=("false",)), stop_within_s=1)
        with pytest.raises(pytest.fail.Exception, match="one to be well"):
            self.run(machine, replace(ill, health=replace(WELL, test=("false",), timeout_s=0.1, retries=2)))

    def test_a_service_that_ends_by_itself_is_found(self, machine: tuple[ComposeNetwork, Path, ExitStack]) -> None:
        with pytest.raises(AssertionError, match="one has ended"):
            self.run(machine, replace(make("one", "exit 0"), health=replace(WELL, test=("false",))))

    def test_a_failed_migration_is_found(self, machine: tuple[ComposeNetwork, Path, ExitStack]) -> None:
        waits = replace(make("two", ENDLESS), waits={"one": "service_completed_successfully"})
        with pytest.raises(AssertionError, match="one ended with status 3"):
            self.run(machine, make("one", "exit 3"), waits)

    def test_a_service_that_does_not_stop_in_time_is_found(
        self, machine: tuple[ComposeNetwork, Path, ExitStack]
    ) -> None:
        deaf = replace(make("one", f"trap '' TERM; {ENDLESS}"), stop_within_s=0.5)
        with pytest.raises(pytest.fail.Exception, match=r"one still runs 0.5 s after it was told to stop"):
            self.run(machine, deaf).stop()
