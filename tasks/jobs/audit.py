"""The audit family: say in words what events of the audit log changed, beside the log (docs: audit-details.md)."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.payloads.audit import CatchUpPayload, EnrichPayload
from domain.planning.audit.rules import details_of
from engine.catalogue import job
from engine.context import JobContext
from engine.enqueue import enqueue_jobs
from storage.jobs.audit_log import details
from storage.jobs.audit_log.details import OrgWithChanges
from storage.postgres.database import Transaction
from storage.postgres.logins import AUDITOR_ROLE

BATCH, MOST_BATCHES = 25, 20
"""An event has at most 128 KiB, so a batch some 3 MB. What is left after so many batches is another job's, so that
orgs take turns."""
ORGS = 500
FIRST_ID = UUID(int=0)
CHANGED = "run_sheet.changed"


@job(queue=Queue.MAINTENANCE, role=AUDITOR_ROLE)
def enrich(ctx: JobContext, _payload: EnrichPayload) -> Outcome:
    """Make details of the org's events that have none by the present rules, the earliest first.

    An attempt that ends in the middle has kept the batches before, and the next one goes on after them.
    """
    made = 0
    for _ in range(MOST_BATCHES):
        with ctx.read() as tx:
            lacking = details.lacking(tx, ctx.org_id, limit=BATCH)
        found = [(one.event_id, details_of(CHANGED, one.data)) for one in lacking]
        if found:
            with ctx.tx() as tx:
                for event_id, said in found:
                    details.add(tx, ctx.job, event_id, said)
        made += len(found)
        if len(found) < BATCH:
            return Done({"events": made})
        ctx.check()
    return Done({"events": made}, children=(EnrichPayload().job(org_id=ctx.org_id),))


@job(queue=Queue.MAINTENANCE)
def catch_up(ctx: JobContext, payload: CatchUpPayload) -> Outcome:
    """Have each org's events enriched that lack details, as all do when the rules have a new version.

    Whoever changes something has its own events enriched at once.
    """
    after, counts = payload.after or FIRST_ID, Counter(orgs=0)

    def ask(tx: Transaction, some: Sequence[OrgWithChanges]) -> dict[str, int]:
        jobs = [EnrichPayload().job(org_id=one.org_id, origin=ctx.job.origin) for one in some]
        return {"orgs": sum(made.created for made in enqueue_jobs(tx, jobs))}

    def look() -> bool:
        nonlocal after
        with ctx.fleet() as tx:
            page = details.orgs_with_changes(tx, after=after, limit=ORGS)
        # An org whose key somebody has locked waits for the next tick.
        ctx.for_orgs([one for one in page if one.is_lacking], ask, counts)
        after = page[-1].org_id if page else after
        return len(page) == ORGS

    rest = (CatchUpPayload(after=after),) if ctx.at_pace(look) else ()
    return Done({**counts}, children=tuple(one.job(org_id=ctx.org_id) for one in rest))
