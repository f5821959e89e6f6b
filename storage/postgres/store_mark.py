"""The mark of the folder of artifacts. Who migrates makes it; workers and gateways only look for it."""

from pathlib import Path

import structlog
from psycopg import Connection

from domain.planning.files.artifact_urls import MARK, read_artifacts_url
from settings import Settings

log = structlog.get_logger(__name__)

WORDS = "This folder is Postroom's store of artifacts. Without this file Postroom takes its volume to be away.\n"


def mark_store(settings: Settings) -> None:
    """Make the folder, where its parent exists, and its mark; a bucket needs none. Raises `OSError`."""
    named = read_artifacts_url(settings.artifacts_url).folder
    if named is None:
        return
    folder = Path(named)
    folder.mkdir(exist_ok=True)
    mark = folder / MARK
    if not mark.exists():
        mark.write_text(WORDS)


def mark_unused_store(settings: Settings, connection: Connection[tuple[object, ...]]) -> None:
    """Mark the store of an installation without artifacts: a store that had some and lost its mark is away.

    A folder that cannot be made is for `doctor` to name: who migrates may have another machine's disk.
    """
    found = connection.execute("select exists (select from artifacts)").fetchone()
    if found is not None and found[0]:
        return
    try:
        mark_store(settings)
    except OSError as error:
        log.warning("artifacts_not_marked", reason=error.strerror)
