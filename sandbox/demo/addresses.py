"""Where each part of the box listens, and the environment that leads the fleet there."""

import secrets
from dataclasses import dataclass
from typing import Self

from sandbox.servers.free_port import LOOPBACK, find_free_port

PUSHER = "push@postroom-box.iam.gserviceaccount.com"
"""The service account that the box's Pub/Sub signs as; nobody's address."""


@dataclass(frozen=True)
class Addresses:
    """URLs of one box, all on the loopback; chosen before anything runs, so that everybody can be told at once."""

    database: str
    broker: str
    gmail: str
    anthropic: str
    gateway: str
    flower: str
    sealing_key: str

    @classmethod
    def choose(cls, *, database: str, broker: str) -> Self:
        """Find free ports beside the two servers, which run already."""
        gmail, anthropic, gateway, flower = (f"http://{LOOPBACK}:{port}" for port in _free_ports(4))
        return cls(database, broker, gmail, anthropic, gateway, flower, secrets.token_urlsafe(32))

    @property
    def webhook(self) -> str:
        """Where Pub/Sub pushes to; also the audience of its tokens."""
        return f"{self.gateway}/webhooks/gmail"

    def environment(self) -> dict[str, str]:
        """What every process of the fleet is told, and what a developer exports to join it."""
        return {
            "POSTROOM_DATABASE_URL": self.database,
            "POSTROOM_BROKER_URL": self.broker,
            "POSTROOM_SEALING_KEYS": self.sealing_key,
            "POSTROOM_GMAIL_ENDPOINT": self.gmail,
            "POSTROOM_GOOGLE_TOKEN_URI": f"{self.gmail}/token",
            "POSTROOM_GOOGLE_CERTS_URL": f"{self.gmail}/certs",
            "POSTROOM_GOOGLE_CLIENT_ID": "box",
            "POSTROOM_GOOGLE_CLIENT_SECRET": "box",
            "POSTROOM_PUBSUB_AUDIENCE": self.webhook,
            "POSTROOM_PUBSUB_SERVICE_ACCOUNT": PUSHER,
            "POSTROOM_ANTHROPIC_BASE_URL": self.anthropic,
            "POSTROOM_ANTHROPIC_API_KEY": "box",
        }


def _free_ports(count: int) -> set[int]:
    """Distinct ports; one that was found is not taken yet, so the finder may name it twice."""
    ports: set[int] = set()
    while len(ports) < count:
        ports.add(find_free_port())
    return ports


def port_of(url: str) -> str:
    """The port of an address of the box."""
    return url.rpartition(":")[2]
