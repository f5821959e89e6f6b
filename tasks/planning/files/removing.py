"""Removes the bytes of artifacts: the state first, the bytes after, so that nobody is shown a half of them.

A store deletes what is gone without a word, so an attempt that died begins again where it was. The store is not asked
inside a transaction. A place that the store refuses holds up no other: it is told, and tried again later.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from uuid import uuid4

from domain.jobs.failures import Failure
from domain.jobs.job import SYSTEM_ORG, JsonObject
from domain.planning.files.artifacts import ORPHANED_AFTER, artifact_at, orphans_of, place_of
from engine.context import JobContext
from providers.ports.artifact_store import ArtifactStore
from storage.planning import artifacts
from tasks.planning.files.artifact_files import store_of

BATCH = 200
"""Artifacts per transaction, and files that are deleted between two looks whether the worker stops: some seconds."""
PAGE = 5_000
"""Names of the store at a time. A folder is walked as a whole for each page."""
FIRST_REFUSED = 5
"""After so many refusals and nothing removed the store is asked whether it removes anything at all: a store that does
not answer takes 30 s for each."""
MOST_SHOWN = 10
"""Refused places that the output names; all are counted."""
FULL = "artifacts.full"

Refused = dict[str, str]
"""Places whose bytes the store has refused to remove, with its reason."""


def remove_deleted(ctx: JobContext, removed: Counter[str], refused: Refused) -> bool:
    """Delete what has expired, remove the bytes of what is deleted, forget old rows; whether there may be more."""
    with ctx.fleet() as tx:
        expired = artifacts.expire(tx, batch=BATCH)
        forgotten = artifacts.RETENTION.forget(tx)
    removed.update(expired=expired, forgotten=forgotten)
    with ctx.fleet() as tx:
        to_remove = artifacts.to_remove(tx, batch=BATCH)
    kept = _delete(ctx, [one.place for one in to_remove])
    gone = [one for one in to_remove if one.place not in kept]
    if to_remove:
        with ctx.fleet() as tx:
            artifacts.record_removed(tx, [one.artifact_id for one in gone])
            artifacts.record_refused(tx, [one.artifact_id for one in to_remove if one.place in kept])
    refused.update(kept)
    removed.update(removed=len(gone), bytes=sum(one.size for one in gone))
    return BATCH in {expired, forgotten, len(to_remove)}


def remove_orphans(ctx: JobContext, after: str, swept: Counter[str], refused: Refused) -> str | None:
    """Remove the old bytes of a page that no row knows; after which place to go on, None at the end."""
    store, young = store_of(ctx), ctx.now() - ORPHANED_AFTER
    found = store.listed(after=after, limit=PAGE)
    old = {one.place: one.size for one in found if one.stored_at < young}
    ids = [artifact_id for artifact_id in map(artifact_at, old) if artifact_id is not None]
    with ctx.fleet() as tx:
        known = artifacts.known(tx, ids)
    orphans = orphans_of(old, known)
    kept: Refused = {}
    for first in range(0, len(orphans), BATCH):
        ctx.check()
        kept |= _delete(ctx, orphans[first : first + BATCH])
    refused.update(kept)
    gone = [place for place in orphans if place not in kept]
    swept.update(seen=len(found), removed=len(gone), bytes=sum(old[place] for place in gone))
    return found[-1].place if len(found) == PAGE else None


def told(ctx: JobContext, refused: Refused) -> JsonObject:
    """What the output says of refused places; the log says it too, for somebody has to mend the store."""
    if refused:
        place, reason = next(iter(refused.items()))
        ctx.log.error("artifacts_not_removed", refused=len(refused), first=place, reason=reason)
    return {"refused": len(refused), "refused_places": dict(islice(refused.items(), MOST_SHOWN))}


def _delete(ctx: JobContext, places: Sequence[str]) -> Refused:
    """Remove what lies at these places, but for those that the store refuses; raises where it refuses everything."""
    refused: Refused = {}
    if not places:
        return refused
    store = store_of(ctx)
    try:
        store.delete(places)
    except Failure:
        # Which of them it was no store says in the same way; each alone, all that can go go.
        for tried, place in enumerate(places, 1):
            ctx.check()
            try:
                store.delete([place])
            except Failure as failure:
                refused[place] = failure.reason
                if len(refused) == tried == min(FIRST_REFUSED, len(places)):
                    _check_removes(store)
    return refused


def _check_removes(store: ArtifactStore) -> None:
    """Raise the store's failure where it does not even remove what was just put."""
    place = place_of(SYSTEM_ORG, uuid4())
    try:
        store.put(place, [b"to be removed"])
    except Failure as failure:
        # A full store takes nothing and may remove all the same; the housekeeping is what makes room.
        if failure.code != FULL:
            raise
    store.delete([place])
