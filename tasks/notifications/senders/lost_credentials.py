"""What an org's own credentials at a provider are, and what follows when the provider refuses them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from domain.jobs.failures import CredentialsLost, Scope, Throttled, Unauthorised
from domain.jobs.lifecycle import LONG_WAIT
from domain.notifications.alerts.alert import Alert, AlertKind, payload_of
from domain.notifications.alerts.due import LONG_PARK, alert_of_org
from domain.planning.files.artifacts import STORE
from engine.context import JobContext
from engine.interrupts import Interrupted
from storage.jobs import audit
from storage.orgs.secrets import org_credentials
from storage.postgres.database import TenantTransaction

CREDENTIAL_AUDITS = ("credentials.lost",)
"""What a job that uses an org's own credentials may append to the audit log."""


@contextmanager
def credentials_in_use(ctx: JobContext, provider: str, set_at: datetime | None) -> Iterator[None]:
    """Use the credentials that were set then, None for an org that has none.

    What a vendor says of a key holds for the org's calls of that vendor, and not for all that the org does:
    `Unauthorised` becomes `CredentialsLost`, and a slow-down of the org closes the gate of org and provider. The first
    job that learns of a loss tells the owner, by an audit event and an alert; a limit that lasts is an alert a day.
    Raises `Interrupted` instead of all these where others were set meanwhile: the attempt is given back, and the next
    one uses those.
    """
    try:
        yield
    except CredentialsLost as lost:
        _report(ctx, lost, provider, set_at)
        raise
    except Unauthorised as refusal:
        refused = CredentialsLost(refusal.reason, provider=provider, code=refusal.code)
        _report(ctx, refused, provider, set_at)
        raise refused from refusal
    except Throttled as limit:
        if limit.scope is Scope.PROVIDER or limit.provider == STORE:
            raise
        with ctx.tx() as tx:
            _check_current(ctx, tx, provider, set_at)
            if limit.retry_after >= LONG_PARK:
                alert = alert_of_org(ctx.org_id, provider, limit.reason, ctx.now())
                # One that was raised before is refused by its key.
                ctx.enqueue(tx, payload_of(alert))
        limit.scope, limit.provider = Scope.ORG_PROVIDER, provider
        raise


def asked_again_later(lost: CredentialsLost) -> Throttled:
    """For a job that only asks what became of another's effect.

    No gate of the provider's keeps it back: it would come back each second.
    """
    return Throttled(lost.reason, retry_after=LONG_WAIT, scope=Scope.ORG_PROVIDER, provider=lost.provider)


def _report(ctx: JobContext, lost: CredentialsLost, provider: str, set_at: datetime | None) -> None:
    with ctx.tx() as tx:
        first = org_credentials.lose(tx, ctx.org_id, provider, set_at=set_at, code=lost.code)
        if first:
            audit.append(tx, ctx.job, "credentials.lost", {"provider": provider, "code": lost.code})
            alert = Alert(
                AlertKind.CREDENTIALS,
                f"{provider} of org {ctx.org_id}",
                ctx.now(),
                detail=lost.code,
                reference=str(ctx.org_id),
            )
            ctx.enqueue(tx, payload_of(alert))
        else:
            _check_current(ctx, tx, provider, set_at)
    if first:
        ctx.log.error("credentials_lost", provider=provider, code=lost.code)


def _check_current(ctx: JobContext, tx: TenantTransaction, provider: str, set_at: datetime | None) -> None:
    if org_credentials.find(tx, ctx.org_id, provider).set_at != set_at:
        raise Interrupted("other credentials were set meanwhile")
