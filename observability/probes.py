"""Starts what a process shows of itself: metrics and health on a port, and its health to systemd."""

from typing import Protocol

import structlog

from observability.health import Health
from observability.on_demand import on_demand
from observability.samples import Source
from observability.supervisor import notify_supervisor
from settings import Settings

log = structlog.get_logger(__name__)


class Probes(Protocol):
    """A served port."""

    @property
    def port(self) -> int:
        """The port that is served."""

    def add_source(self, source: Source) -> None:
        """Show what this source says, too."""

    def begin(self) -> None:
        """Serve until `end`."""

    def end(self) -> None:
        """Stop serving, and give the port back."""


def show(settings: Settings, health: Health) -> Probes | None:
    """Show this process's health to its supervisor, and serve it with the metrics where a port is set.

    None when no port is set, or when somebody has it, which is logged: a process without metrics does its work; it must
    not end for them.
    """
    notify_supervisor(settings.notify_socket, settings.watchdog_usec, health)
    host, port = settings.metrics_host, settings.metrics_port
    if not port:
        return None
    try:
        served: Probes = on_demand("observability.probe_server:ProbeServer")(host, port, health)
    except OSError as error:
        log.warning("metrics_not_served", host=host, port=port, reason=error.strerror)
        return None
    served.begin()
    log.info("metrics_served", host=host, port=served.port)
    return served
