"""The deployment files as data: which commands they start, with which environment, for the tests of deploy/."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import yaml

from tests.house.reading import ROOT

DEPLOY = ROOT / "deploy"
COMPOSE = ROOT / "docker-compose.yml"
KUBERNETES = sorted((DEPLOY / "kubernetes").rglob("*.yaml"))
KUSTOMIZATIONS = ("migration", "fleet")
SYSTEMD = [path for path in sorted((DEPLOY / "systemd").glob("postroom*")) if path.is_file()]
EXAMPLE = DEPLOY / "example.env"
ALL_FILES = [COMPOSE, EXAMPLE, DEPLOY / "Dockerfile", *KUBERNETES, *SYSTEMD]
WAYS = ("compose", "kubernetes", "systemd")

VARIABLE = re.compile(r"\b(?:POSTROOM|FLOWER)_[A-Z_]+\b")


class StrictLoader(yaml.SafeLoader):
    """Refuses a key that stands twice in one mapping, as Docker and Kubernetes do; PyYAML takes the later one."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:  # noqa: ANN401 - its stubs are mistaken
        """One mapping; raises `yaml.MarkedYAMLError` for a doubled key."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"{key.value} stands twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return node


def read_yaml(text: str) -> list[Any]:
    """Every document of a YAML file."""
    return [one for one in yaml.load_all(text, StrictLoader) if one]


@dataclass(frozen=True)
class Process:
    """One process that a way of deployment starts, and how many of it."""

    command: tuple[str, ...]
    copies: int = 1
    restarts: bool = False
    """Whether its supervisor starts it anew, with whatever status it ended."""
    stop_period_s: float = 0.0
    """How long it may take to stop before it is killed."""
    environment: str = ""
    """What its supervisor sets for this one process, as its file has it."""

    @property
    def queues(self) -> tuple[str, ...]:
        """What a worker consumes; nothing for another process."""
        is_worker = "worker" in self.command and "-Q" in self.command
        return tuple(self.command[self.command.index("-Q") + 1].split(",")) if is_worker else ()

    @property
    def is_prefork(self) -> bool:
        """Whether a worker runs its jobs in children."""
        return self.starts("--pool", "prefork") or "CELERY_WORKER_POOL=prefork" in self.environment

    def starts(self, *words: str) -> bool:
        """Whether the command has these words in this order, side by side."""
        return any(self.command[at : at + len(words)] == words for at in range(len(self.command)))


@cache
def rendered(folder: str) -> list[dict[str, Any]]:
    """The objects that a kustomization makes; skips the test where there is no kubectl, which makes them."""
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl")
    words = ["kubectl", "kustomize", str(DEPLOY / "kubernetes" / folder)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)  # noqa: S603  # constant words
    return read_yaml(done.stdout)


def documents() -> list[dict[str, Any]]:
    """Every Kubernetes object, as it is applied."""
    secrets = read_yaml((DEPLOY / "kubernetes" / "secret.example.yaml").read_text())
    return [*(one for folder in KUSTOMIZATIONS for one in rendered(folder)), *secrets]


def objects(kind: str) -> dict[str, dict[str, Any]]:
    """The Kubernetes objects of one kind, by name."""
    return {one["metadata"]["name"]: one for one in documents() if one["kind"] == kind}


def services() -> dict[str, dict[str, Any]]:
    """The services of docker-compose.yml, their merges done."""
    found: dict[str, dict[str, Any]] = read_yaml(COMPOSE.read_text())[0]["services"]
    return found


def processes(way: str) -> list[Process]:
    """What one way of deployment starts of ours."""
    return list({"compose": _of_compose, "kubernetes": _of_kubernetes, "systemd": _of_systemd}[way]())


def _of_compose() -> Iterator[Process]:
    for service in services().values():
        if service["image"] == "postroom":
            stop_period_s = float(str(service.get("stop_grace_period", "10s")).removesuffix("s"))
            restarts = service.get("restart") in {"always", "unless-stopped"}
            script = service["command"][2] if service["command"][0] == "sh" else shlex.join(service["command"])
            yield Process(tuple(shlex.split(script)), 1, restarts, stop_period_s)


def _of_kubernetes() -> Iterator[Process]:
    for one in (*objects("Deployment").values(), *objects("Job").values()):
        spec = one["spec"]
        pod = spec["template"]["spec"]
        restarts = pod.get("restartPolicy", "Always") == "Always"
        for container in pod["containers"]:
            stop_period_s = float(pod.get("terminationGracePeriodSeconds", 30))
            yield Process(tuple(container["command"]), spec.get("replicas", 1), restarts, stop_period_s)


def _of_systemd() -> Iterator[Process]:
    """The target's wishes, a template's instance put in for %i."""
    target = (DEPLOY / "systemd" / "postroom.target").read_text()
    for wished in re.findall(r"^Wants=(postroom\S+)$", target, re.MULTILINE):
        name, at, rest = wished.partition("@")
        instance = rest.removesuffix(".service")
        unit = (DEPLOY / "systemd" / (f"{name}@.service" if at else wished)).read_text()
        command = re.search(r"^ExecStart=(.+)$", unit, re.MULTILINE)
        assert command is not None, f"{wished} starts nothing"
        stop_period = re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
        # Without a limit on starts, or systemd would leave a worker that ends several times in a row ended.
        restarts = {"Restart=always", "StartLimitIntervalSec=0"} <= set(unit.splitlines())
        words = tuple(shlex.split(command[1].replace("%i", instance)))
        added = "".join(path.read_text() for path in (DEPLOY / "systemd").glob(f"{wished}.d/*.conf"))
        yield Process(words, 1, restarts, float(stop_period[1]) if stop_period else 90.0, added)
