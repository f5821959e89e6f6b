"""What the gateway's process holds while it serves: settings, connections, certificates, counters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Unpack
from uuid import UUID

from fastapi import Request

from domain.jobs.job import ActorType, Enqueued, Origin
from domain.orgs.access.api_keys import Role
from domain.payloads.gmail import SyncPayload
from domain.payloads.payload import JobOptions, Payload, jobs_of
from gateway.http.fairness import RequestPlaces, SharedPlaces
from gateway.http.fleet_findings import FleetFindings
from gateway.http.inbox_bells import InboxBells
from gateway.http.rate_limit import RequestLimiter, SignInLimiter
from gateway.http.readiness import Readiness
from gateway.http.request_ids import origin_of
from gateway.oidc.identity_provider import IdentityProvider
from operations.call import Call
from operations.fleet_checks import read_clock
from operations.repeated_requests import KeyedRequest
from providers.artifacts.obstore_store import AsyncObstoreArtifacts
from providers.google.certificates import CertificateStore
from providers.ports.artifact_store import AsyncArtifactStore
from settings import Settings
from storage.jobs import ledger
from storage.orgs.access.api_keys import Caller
from storage.postgres.database import Database, Transaction
from storage.postgres.readiness import database_checks, silent_checks

CERTIFICATE_TIMEOUT_S = 5.0
"""Pub/Sub waits 10 s for an answer by default; the fetch must leave room for the database."""


ORGS_SHARE = 3
"""One org's requests hold at most one in three of the connections of a role. The key of each is looked up before."""

TRIALS_AT_ONCE, TRIALS_OF_ORG = 4, 1
"""Rules that are tried on past mail at a time. One may take 20 s, and must leave threads for all other requests."""

EXCHANGES_AT_ONCE, EXCHANGES_OF_ORG = 8, 2
"""Codes that are exchanged with Google at a time. One may take 20 s, and must leave threads for all other requests."""

STREAMS_AT_ONCE, STREAMS_OF_ORG = 200, 50
"""Streams of inboxes, of the 800 connections that a process keeps."""

UPLOADS_AT_ONCE, UPLOADS_OF_ORG = 100, 2
"""Files that are on their way in at a time. Each is kept on the disk until it is whole: 2 GB in all, at 20 MB."""

PUTS_AT_ONCE, PUT_WITHIN_S = 8, 10.0
"""Files that are put into the store at a time, each whole in memory, and how long the others wait."""

DOWNLOADS_AT_ONCE, DOWNLOADS_OF_ORG = 200, 20
"""Files that are on their way out, of the 800 connections that a process keeps. Each holds a piece in memory."""

HASHES_AT_ONCE, HASH_WITHIN_S = 2, 5.0
"""Passwords that are hashed at a time, each in 19 MB and 30 ms of CPU, and how long the others wait, in no thread."""

PROVIDER_AT_ONCE = 2
"""Browsers for which the provider of sign-ins is asked at a time. One may take 30 s, and must leave threads for all."""

NEEDED_JOB_TYPES = (SyncPayload.declaration.job_type,)
"""What the gateway enqueues; a catalogue without it would make every push come again."""


@dataclass(frozen=True, slots=True)
class Resources:
    """Made once per application, shared by its threads."""

    settings: Settings
    database: Database
    certificates: CertificateStore
    limiter: RequestLimiter
    readiness: Readiness
    fleet: FleetFindings
    requests: RequestPlaces
    trials: SharedPlaces
    exchanges: SharedPlaces
    streams: SharedPlaces
    bells: InboxBells
    uploads: SharedPlaces
    puts: RequestPlaces
    """Of all orgs, which share them as one."""
    downloads: SharedPlaces
    artifacts: AsyncArtifactStore
    sign_ins: SignInLimiter
    hashes: RequestPlaces
    """Of all who sign in, who share them as one."""
    entrances: SharedPlaces
    """Of those who are on their way to the provider, or back."""
    identities: IdentityProvider | None
    """At which operators have accounts; None where none is set."""

    @classmethod
    def of(cls, settings: Settings, machine_clock: Callable[[], datetime] = read_clock) -> "Resources":
        """Prepare everything; nothing connects yet."""
        timeout_s = min(CERTIFICATE_TIMEOUT_S, settings.google_request_timeout_s)
        database = Database(settings)
        fleet = FleetFindings(database, settings, machine_clock)
        readiness = Readiness(lambda: database_checks(database, NEEDED_JOB_TYPES), silent_checks(), then=fleet.look)
        certificates = CertificateStore(timeout_s=timeout_s)
        return cls(
            settings,
            database,
            certificates,
            RequestLimiter(settings),
            readiness,
            fleet,
            requests=RequestPlaces(max(1, settings.database_pool_size // ORGS_SHARE)),
            trials=SharedPlaces(TRIALS_AT_ONCE, TRIALS_OF_ORG, "other rules are being tried on past mail"),
            exchanges=SharedPlaces(EXCHANGES_AT_ONCE, EXCHANGES_OF_ORG, "other mailboxes are being connected"),
            streams=SharedPlaces(STREAMS_AT_ONCE, STREAMS_OF_ORG, "other streams of inboxes are open"),
            bells=InboxBells(database),
            uploads=SharedPlaces(UPLOADS_AT_ONCE, UPLOADS_OF_ORG, "other files are being stored"),
            puts=RequestPlaces(PUTS_AT_ONCE, PUT_WITHIN_S),
            downloads=SharedPlaces(DOWNLOADS_AT_ONCE, DOWNLOADS_OF_ORG, "other files are being read"),
            artifacts=AsyncObstoreArtifacts(settings.artifacts_url),
            sign_ins=SignInLimiter(settings),
            hashes=RequestPlaces(HASHES_AT_ONCE, HASH_WITHIN_S),
            entrances=SharedPlaces(
                PROVIDER_AT_ONCE, PROVIDER_AT_ONCE, "others are on their way to the provider, or back"
            ),
            identities=IdentityProvider.of(settings),
        )

    def enqueue(
        self, tx: Transaction, *payloads: Payload, org_id: UUID, origin: Origin, **options: Unpack[JobOptions]
    ) -> Sequence[Enqueued]:
        """Enqueue in the caller's transaction; the notification wakes the relay, which publishes."""
        jobs = jobs_of(payloads, org_id=org_id, origin=origin, **options)
        return ledger.enqueue(tx, jobs, publisher=False, hint_timeout=self.hint_timeout)

    def call(
        self,
        origin: Origin,
        role: Role,
        name: str = "",
        *,
        org_id: UUID | None = None,
        within: Transaction | None = None,
        keyed: KeyedRequest | None = None,
    ) -> Call:
        """A call of an operation; records name its caller by the origin where no other name is given."""
        return Call(
            origin=origin, name=name or f"{origin.actor_type}:{origin.actor_id}", role=role, org_id=org_id,
            database=self.database, settings=self.settings, enqueue=self.enqueue, within=within, keyed=keyed,
        )  # fmt: skip

    @property
    def hint_timeout(self) -> timedelta:
        """How long a published hint may stay unclaimed."""
        return timedelta(seconds=self.settings.hint_timeout_s)


def resources_of(request: Request) -> Resources:
    """The resources of the application that serves this request."""
    resources: Resources = request.app.state.resources
    return resources


def call_of(request: Request, caller: Caller, keyed: KeyedRequest | None = None) -> Call:
    """A call by a key, in its org."""
    origin = origin_of(request, str(caller.key_id), ActorType.API_KEY)
    return resources_of(request).call(origin, caller.role, org_id=caller.org_id, keyed=keyed)
