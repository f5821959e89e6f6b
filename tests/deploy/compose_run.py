"""Runs the services of a Compose file as Compose does: in order, by condition and health check, and to their end."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from graphlib import TopologicalSorter
from pathlib import Path
from threading import Event

import pytest

from sandbox.servers.child_process import ChildProcess, Command
from tests.deploy.compose_file import Health, Service
from tests.deploy.compose_images import Image
from tests.deploy.compose_network import ComposeNetwork
from tests.house.reading import ROOT
from tests.waiting import eventually

COMMAND_WITHIN_S = 300.0
"""How long a command, such as the migration, may take on a busy machine, in seconds."""


class ComposeRun:
    """The services of a file that is run. None may end by itself: nothing restarts it here."""

    def __init__(
        self, services: Mapping[str, Service], images: Mapping[str, Image], network: ComposeNetwork, folder: Path
    ) -> None:
        """Nothing runs before `start`; logs go to files in `folder`."""
        self.services = services
        self._images, self._network, self._folder = images, network, folder
        self._started: dict[str, ChildProcess] = {}
        self._well: set[str] = set()

    def start(self, stack: ExitStack) -> None:
        """Start each service when its conditions are met, and wait until all that have a health check are well."""
        order = TopologicalSorter({name: one.waits.keys() for name, one in self.services.items()}).static_order()
        for name in order:
            service = self.services[name]
            for other, condition in service.waits.items():
                self._meet(other, condition)
            command = Command(self._words(service, service.command, is_main=True), folder=ROOT)
            process = ChildProcess(
                command, log=self._folder / f"{name}.log", stop_signal=self._image(service).stop_signal
            )
            process.start()
            stack.callback(process.stop)
            stack.callback(self._network.kill, name)
            self._started[name] = process
        for name in self.services:
            self._wait_until_well(name)

    def run(self, name: str, *command: str) -> tuple[int, str]:
        """A command in a container of a service, as `docker compose exec` runs it: its status, and what it wrote."""
        words = self._words(self.services[name], command, is_main=False)
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=COMMAND_WITHIN_S)  # noqa: S603  # words of the file
        return done.returncode, done.stdout + done.stderr

    def stop(self) -> dict[str, int]:
        """Stop all, whoever waits for others before them, each within its stop period; their exit statuses."""
        found: dict[str, int] = {}
        left = {name for name, process in self._started.items() if process.running}
        while left:
            last = left - {other for name in left for other in self.services[name].waits}
            for name in last:
                image = self._image(self.services[name])
                os.kill(image.main_process(self._started[name].pid), image.stop_signal)
            found |= {name: self._end(name) for name in last}
            left -= last
        return found

    def _end(self, name: str) -> int:
        within = self.services[name].stop_within_s
        try:
            return self._started[name].wait(within=within)
        except subprocess.TimeoutExpired:
            pytest.fail(f"{name} still runs {within:g} s after it was told to stop: {self.log(name)[-2000:]}")

    def log(self, name: str) -> str:
        """What a service wrote."""
        return self._started[name].read_log()

    def _meet(self, name: str, condition: str) -> None:
        if condition == "service_healthy":
            self._wait_until_well(name)
        elif condition == "service_completed_successfully":
            status = self._started[name].wait(within=COMMAND_WITHIN_S)
            assert status == 0, f"{name} ended with status {status}: {self.log(name)[-2000:]}"

    def _wait_until_well(self, name: str) -> None:
        """Ask as the file says, and as often as it says."""
        health = self.services[name].health
        if health is None or name in self._well:
            return
        pause = Event()

        def is_well() -> bool:
            assert self._started[name].running, f"{name} has ended: {self.log(name)[-2000:]}"
            return self._passes(name, health) or pause.wait(health.interval_s)

        eventually(is_well, within=health.patience_s, describe=f"{name} to be well")
        self._well.add(name)

    def _passes(self, name: str, health: Health) -> bool:
        words = self._words(self.services[name], health.test, is_main=False)
        try:
            done = subprocess.run(words, cwd=ROOT, capture_output=True, check=False, timeout=health.timeout_s)  # noqa: S603  # words of the file
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def _image(self, service: Service) -> Image:
        return self._images[service.image.partition(":")[0]]

    def _words(self, service: Service, command: Sequence[str], *, is_main: bool) -> list[str]:
        return [*self._network.inside(service.name), *self._image(service).words(service, command, is_main=is_main)]
