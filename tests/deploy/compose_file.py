"""docker-compose.yml as Compose reads it: values put in, secrets, volumes, conditions, health checks, times."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.deployment import COMPOSE, read_yaml

GAP = re.compile(r"\$\$|\$\{(?P<name>\w+)(?P<required>:\?)?\}|\$")
DURATION = re.compile(r"(\d+)(ms|s|m|h)")
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0}
STOP_WITHIN_S, INTERVAL_S, TIMEOUT_S, RETRIES = 10.0, 30.0, 30.0, 3
"""What Compose takes where a service does not say (docs.docker.com, Compose file reference)."""
SECRETS = "/run/secrets"


@dataclass(frozen=True)
class Health:
    """How a service is asked whether it is well; times are in seconds."""

    test: tuple[str, ...]
    interval_s: float
    timeout_s: float
    start_period_s: float
    retries: int

    @property
    def patience_s(self) -> float:
        """After which Compose gives up waiting for a service that never was well."""
        return self.start_period_s + self.retries * (self.interval_s + self.timeout_s)


@dataclass(frozen=True)
class Service:
    """One service, every value put in."""

    name: str
    image: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    mounts: Mapping[str, str]
    """Volumes, folders and secrets by where they are mounted: a volume's name, or a path beside the file."""
    waits: Mapping[str, str]
    """Conditions by the service that is waited for."""
    health: Health | None
    stop_within_s: float


def read_compose(outside: Mapping[str, str], profiles: Sequence[str] = ()) -> dict[str, Service]:
    """The services of docker-compose.yml by name; `ValueError` for what has no value outside and must have one."""
    document = read_yaml(COMPOSE.read_text())[0]
    secrets = {name: str(one["file"]) for name, one in document["secrets"].items()}
    chosen = {
        name: one for name, one in document["services"].items() if set(one.get("profiles", profiles)) <= set(profiles)
    }
    return {name: _read_service(name, _fill(one, outside), outside, secrets) for name, one in chosen.items()}


def _read_service(name: str, given: Any, outside: Mapping[str, str], secrets: Mapping[str, str]) -> Service:  # noqa: ANN401 - YAML
    environment = {
        key: outside.get(key) if value is None else value for key, value in given.get("environment", {}).items()
    }
    volumes = [str(one).split(":") for one in given.get("volumes", [])]
    health = given.get("healthcheck")
    return Service(
        name,
        image=given["image"],
        command=tuple(given.get("command", ())),
        environment={key: str(value) for key, value in environment.items() if value is not None},
        mounts={target: source for source, target, *_ in volumes}
        | {f"{SECRETS}/{one}": secrets[one] for one in given.get("secrets", [])},
        waits={other: how["condition"] for other, how in given.get("depends_on", {}).items()},
        health=_read_health(health) if health else None,
        stop_within_s=seconds(given["stop_grace_period"]) if "stop_grace_period" in given else STOP_WITHIN_S,
    )


def _read_health(given: Mapping[str, Any]) -> Health:
    how, *words = given["test"]
    return Health(
        test=tuple(words) if how == "CMD" else ("/bin/sh", "-c", *words),
        interval_s=seconds(given["interval"]) if "interval" in given else INTERVAL_S,
        timeout_s=seconds(given["timeout"]) if "timeout" in given else TIMEOUT_S,
        start_period_s=seconds(given.get("start_period", "0s")),
        retries=given.get("retries", RETRIES),
    )


def seconds(text: str) -> float:
    """A duration such as `1m30s`, in seconds."""
    return sum(int(number) * SECONDS[unit] for number, unit in DURATION.findall(text))


def _fill(given: Any, outside: Mapping[str, str]) -> Any:  # noqa: ANN401 - YAML
    if isinstance(given, Mapping):
        return {key: _fill(value, outside) for key, value in given.items()}
    if isinstance(given, list):
        return [_fill(value, outside) for value in given]
    return GAP.sub(lambda gap: _value_of(gap, outside), given) if isinstance(given, str) else given


def _value_of(gap: re.Match[str], outside: Mapping[str, str]) -> str:
    if gap[0] == "$$":
        return "$"
    if gap["name"] is None or (gap["required"] and not outside.get(gap["name"])):
        raise ValueError(f"{gap[0]} in {COMPOSE.name} has no value")
    return outside.get(gap["name"], "")
