"""What the gateway's process holds while it serves: settings, connections, certificates, counters."""

from dataclasses import dataclass
from datetime import timedelta

from fastapi import Request

from gateway.rate_limit import RequestLimiter
from providers.google.certificates import CertificateStore
from settings import Settings
from storage.postgres.database import Database

CERTIFICATE_TIMEOUT_S = 5.0
"""Pub/Sub waits 10 s for an answer by default; the fetch must leave room for the database."""


@dataclass(frozen=True, slots=True)
class Resources:
    """Made once per application, shared by its threads."""

    settings: Settings
    database: Database
    certificates: CertificateStore
    limiter: RequestLimiter

    @classmethod
    def of(cls, settings: Settings) -> "Resources":
        """Prepare everything; nothing connects yet."""
        timeout_s = min(CERTIFICATE_TIMEOUT_S, settings.google_request_timeout_s)
        return cls(settings, Database(settings), CertificateStore(timeout_s=timeout_s), RequestLimiter.of(settings))

    @property
    def hint_timeout(self) -> timedelta:
        """How long a published hint may stay unclaimed."""
        return timedelta(seconds=self.settings.hint_timeout_s)


def resources_of(request: Request) -> Resources:
    """The resources of the application that serves this request."""
    resources: Resources = request.app.state.resources
    return resources
