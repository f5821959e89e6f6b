"""Where each part of the local stack listens, and the environment that points the fleet there."""

import json
import secrets
from dataclasses import dataclass
from typing import Self

from sandbox.discord.presses import PUBLIC_KEY
from sandbox.s3.service import ACCESS_KEY, BUCKET, SECRET_KEY
from sandbox.servers.free_port import LOOPBACK, find_free_port

PUSHER = "push@postroom-local.iam.gserviceaccount.com"
"""The made-up service account that the emulated Pub/Sub signs as."""

GMAIL_UNITS = 15_000
"""A user's units a minute at Gmail in the local stack, as in projects of before May 2026 (docs: gmail.md#quotas): the
demo plays hours of a mailbox within one."""

CLIENT = "local"
"""The OAuth client of the local stack: its id, and its secret."""


@dataclass(frozen=True)
class Addresses:
    """URLs of one local stack, on the loopback; chosen before the processes start, so that each knows all of them."""

    database: str
    broker: str
    gmail: str
    anthropic: str
    discord: str
    resend: str
    microsoft: str
    twilio: str
    fcm: str
    s3: str
    gateway: str
    flower: str
    sealing_key: str

    @classmethod
    def choose(cls, *, database: str, broker: str) -> Self:
        """Find free ports beside the two servers, which are running."""
        names = (
            "gmail", "anthropic", "discord", "resend", "microsoft", "twilio", "fcm", "s3", "gateway", "flower",
        )  # fmt: skip
        urls = {name: f"http://{LOOPBACK}:{port}" for name, port in zip(names, _free_ports(len(names)), strict=True)}
        return cls(database=database, broker=broker, sealing_key=secrets.token_urlsafe(32), **urls)

    @property
    def webhook(self) -> str:
        """The URL that Pub/Sub pushes to; also the audience of its tokens."""
        return f"{self.gateway}/webhooks/gmail"

    @property
    def consent_callback(self) -> str:
        """Where Google's screen sends browsers back to."""
        return f"{self.gateway}/oauth/google/callback"

    def environment(self) -> dict[str, str]:
        """The environment of every process of the fleet, and of a developer who works with it."""
        return {
            "POSTROOM_DATABASE_URL": self.database,
            "POSTROOM_BROKER_URL": self.broker,
            "POSTROOM_SEALING_KEYS": self.sealing_key,
            "POSTROOM_GOOGLE_URL": self.gmail,
            "POSTROOM_GOOGLE_CLIENT_ID": CLIENT,
            "POSTROOM_GOOGLE_CLIENT_SECRET": CLIENT,
            "POSTROOM_RATE_LIMITS": json.dumps({"gmail.user": GMAIL_UNITS}),
            "POSTROOM_PUBLIC_URL": self.gateway,
            "POSTROOM_PUBSUB_AUDIENCE": self.webhook,
            "POSTROOM_PUBSUB_SERVICE_ACCOUNT": PUSHER,
            "POSTROOM_ANTHROPIC_BASE_URL": self.anthropic,
            "POSTROOM_ANTHROPIC_API_KEY": "local",
            "POSTROOM_DISCORD_API_URL": f"{self.discord}/api/v10",
            "POSTROOM_DISCORD_BOT_TOKEN": "bot-token",
            "POSTROOM_DISCORD_PUBLIC_KEY": PUBLIC_KEY,
            "POSTROOM_RESEND_API_URL": self.resend,
            "POSTROOM_GRAPH_API_URL": f"{self.microsoft}/v1.0",
            "POSTROOM_MICROSOFT_LOGIN_URL": self.microsoft,
            "POSTROOM_TWILIO_API_URL": self.twilio,
            "POSTROOM_FCM_API_URL": self.fcm,
            "POSTROOM_FCM_TOKEN_URL": f"{self.fcm}/token",
            "POSTROOM_ARTIFACTS_URL": f"s3://{ACCESS_KEY}:{SECRET_KEY}@{BUCKET}?endpoint={self.s3}",
        }


def _free_ports(count: int) -> set[int]:
    """Distinct ports; a port that was found is not in use yet, so it may be found twice."""
    ports: set[int] = set()
    while len(ports) < count:
        ports.add(find_free_port())
    return ports


def port_of(url: str) -> str:
    """The port of such a URL."""
    return url.rpartition(":")[2]
