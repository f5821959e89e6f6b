"""Removes the bytes of artifacts: the state first, the bytes after, so that nobody is shown a half of them.

A store deletes what is gone without a word, so an attempt that died begins again where it was. The store is not asked
inside a transaction.
"""

from collections import Counter

from domain.exchange.artifacts import ORPHANED_AFTER, artifact_at, orphans_of
from engine.context import JobContext
from storage import artifacts
from tasks.exchange.artifact_files import store_of

BATCH = 200
"""Artifacts per transaction, and files that are deleted between two looks whether the worker stops: some seconds."""
PAGE = 5_000
"""Names of the store at a time. A folder is walked as a whole for each page."""


def remove_deleted(ctx: JobContext, removed: Counter[str]) -> bool:
    """Delete what has expired, remove the bytes of what is deleted, forget old rows; whether there may be more."""
    with ctx.fleet() as tx:
        expired = artifacts.expire(tx, batch=BATCH)
        forgotten = artifacts.forget(tx, batch=BATCH)
    removed.update(expired=expired, forgotten=forgotten)
    with ctx.fleet() as tx:
        to_remove = artifacts.to_remove(tx, batch=BATCH)
    if to_remove:
        store_of(ctx).delete([one.place for one in to_remove])
        with ctx.fleet() as tx:
            artifacts.record_removed(tx, [one.artifact_id for one in to_remove])
    removed.update(removed=len(to_remove), bytes=sum(one.size for one in to_remove))
    return BATCH in {expired, forgotten, len(to_remove)}


def remove_orphans(ctx: JobContext, after: str, swept: Counter[str]) -> str | None:
    """Remove the old bytes of a page that no row knows; after which place to go on, None at the end."""
    store, young = store_of(ctx), ctx.now() - ORPHANED_AFTER
    found = store.listed(after=after, limit=PAGE)
    old = {one.place: one.size for one in found if one.stored_at < young}
    ids = [artifact_id for artifact_id in map(artifact_at, old) if artifact_id is not None]
    with ctx.fleet() as tx:
        known = artifacts.known(tx, ids)
    orphans = orphans_of(old, known)
    for first in range(0, len(orphans), BATCH):
        ctx.check()
        store.delete(orphans[first : first + BATCH])
    swept.update(seen=len(found), removed=len(orphans), bytes=sum(old[place] for place in orphans))
    return found[-1].place if len(found) == PAGE else None
