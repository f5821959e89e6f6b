"""A connection that is shown under its broker's scheme.

kombu shows one under its transport's name, and ours are named by their modules: Flower knows no broker of such a
scheme, and an operator reads `redis://` sooner than a path of modules.
"""

from typing import Any

from celery.app.amqp import AMQP
from kombu import Connection


class FleetConnection(Connection):  # type: ignore[misc] # kombu ships no types
    """A connection of the app's, for workers, beat and Flower."""

    def as_uri(self, *arguments: Any, **options: Any) -> str:  # noqa: ANN401 - kombu's signature
        """The broker's URL, by default without its password."""
        shown: str = super().as_uri(*arguments, **options)
        scheme = getattr(self.transport, "scheme", None)
        return f"{scheme}://{shown.partition('://')[2]}" if scheme else shown


class FleetAmqp(AMQP):  # type: ignore[misc] # Celery ships no types
    """Where the app finds its class of connections."""

    Connection = FleetConnection
    BrokerConnection = FleetConnection
