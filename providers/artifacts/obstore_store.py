"""Artifacts in a folder or in a bucket of S3's kind, by obstore (https://developmentseed.org/obstore/latest/).

obstore signs and speaks S3. It repeats nothing here: a job's retries and a client's are what repeats.
"""

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import obstore
from obstore.store import LocalStore, S3Store
from pydantic import SecretStr

from domain.jobs.failures import Gone
from domain.planning.files.artifact_urls import MARK, ArtifactsPlace, read_artifacts_url
from providers.answers import Table
from providers.artifacts.failures import ERRORS, OF_MARK, OF_READS, TABLE, failure_of
from providers.ports.artifact_store import StoredBytes

ANSWER_WITHIN_S = 30.0
"""How long one call may take in all: the longest, a put, sends some 20 MB."""
CONNECT_WITHIN_S = 5.0
PAGE = 1000
"""Names that S3 lists at a time (https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html)."""

UNFINISHED = "#"
"""What follows a place in the name of a file that a put into a folder has begun."""

T = TypeVar("T")


Store = LocalStore | S3Store


class ObstoreArtifacts:
    """The store for jobs and commands (`ArtifactStore`)."""

    def __init__(self, url: SecretStr, *, within_s: float = ANSWER_WITHIN_S) -> None:
        """Prepare; a bucket is not asked. Raises `Throttled` for a folder that is away."""
        self._store = open_store(url, within_s)
        folder = read_artifacts_url(url).folder
        self._folder = None if folder is None else Path(folder)

    def put(self, place: str, pieces: Iterable[bytes]) -> None:
        """Write all the pieces to a new place, or nothing.

        In one request: a multipart upload could not be refused where something lies.
        """
        data = b"".join(pieces)
        with self._asked():
            obstore.put(self._store, place, data, mode="create", use_multipart=False)

    def read(self, place: str, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`."""
        if end <= start:
            return b""
        with self._asked(OF_READS):
            return bytes(obstore.get(self._store, place, options={"range": (start, end)}).bytes())

    def delete(self, places: Sequence[str]) -> None:
        """Remove what lies at these places; a bucket takes them at once, a folder refuses one that is gone."""
        if self._folder is None:
            if places:
                with self._asked():
                    obstore.delete(self._store, places)
            return
        for one in places:
            with suppress(Gone), self._asked():
                if UNFINISHED in one:
                    self._folder.joinpath(one).unlink()
                else:
                    obstore.delete(self._store, one)

    def listed(self, *, after: str, limit: int) -> Sequence[StoredBytes]:
        """What lies at the places after this one. A bucket lists in order; a folder is walked as a whole.

        A folder's list has what puts have left that were cut off: obstore writes to the place and `#1`, and hides it.
        """
        with self._asked(OF_READS):
            found = _entries(self._store, after)
            if self._folder is None:
                return list(islice(found, limit))
            unfinished = (one for one in _unfinished(self._folder) if one.place > after)
            return heapq.nsmallest(limit, chain(found, unfinished), key=attrgetter("place"))

    @contextmanager
    def _asked(self, table: Table = TABLE) -> Iterator[None]:
        """Ask the store. A folder shows its mark before and after: its volume may go away in between."""
        self._see_mark()
        try:
            with _read_by(table):
                yield
        finally:
            self._see_mark()

    def _see_mark(self) -> None:
        if self._folder is not None:
            with _read_by(OF_MARK):
                obstore.head(self._store, MARK)


class AsyncObstoreArtifacts:
    """The store for an event loop (`AsyncArtifactStore`)."""

    def __init__(self, url: SecretStr, *, within_s: float = ANSWER_WITHIN_S) -> None:
        """Prepare; it is opened when it is first needed, so that a gateway without a store serves all else."""
        self._url, self._within_s = url, within_s
        self._opened: Store | None = None

    async def put(self, place: str, data: bytes) -> None:
        """Write to a new place."""

        async def put(store: Store) -> None:
            await obstore.put_async(store, place, data, mode="create", use_multipart=False)

        await self._bounded(put, TABLE)

    async def read(self, place: str, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`."""

        async def read(store: Store) -> bytes:
            found = await obstore.get_async(store, place, options={"range": (start, end)})
            return bytes(await found.bytes_async())

        return b"" if end <= start else await self._bounded(read, OF_READS)

    async def _bounded(self, call: Callable[[Store], Awaitable[T]], table: Table) -> T:
        """As `ObstoreArtifacts` asks. Also a folder's calls are bounded: the disk may be another machine's."""
        with _read_by(table):
            async with asyncio.timeout(self._within_s):
                if self._opened is None:
                    self._opened = open_store(self._url, self._within_s)
                await _see_mark(self._opened)
                try:
                    answer = await call(self._opened)
                except ERRORS:
                    await _see_mark(self._opened)
                    raise
                await _see_mark(self._opened)
                return answer


def open_store(url: SecretStr, within_s: float) -> Store:
    """The folder or the bucket that the URL names; nothing is made. Raises `Throttled` for a folder that is away."""
    place = read_artifacts_url(url)
    if place.folder is None:
        return _bucket(place, within_s)
    with _read_by(OF_MARK):
        return LocalStore(prefix=place.folder)


def _bucket(place: ArtifactsPlace, within_s: float) -> S3Store:
    given = {
        "endpoint": place.endpoint,
        "region": place.region,
        "access_key_id": place.access_key,
        "secret_access_key": place.secret_key,
    }
    config: Any = {name: value for name, value in given.items() if value}
    return S3Store(
        place.bucket,
        prefix=place.prefix or None,
        config=config,
        client_options={
            "timeout": timedelta(seconds=within_s),
            "connect_timeout": timedelta(seconds=min(CONNECT_WITHIN_S, within_s)),
            "allow_http": place.endpoint.startswith("http:"),
        },
        retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=within_s)},
    )


def _entries(store: Store, after: str) -> Iterator[StoredBytes]:
    for page in obstore.list(store, offset=after or None, chunk_size=PAGE):
        for one in page:
            if one["path"] != MARK:
                yield StoredBytes(one["path"], one["size"], one["last_modified"])


def _unfinished(folder: Path) -> Iterator[StoredBytes]:
    for path in folder.glob(f"*/*{UNFINISHED}*"):
        with suppress(FileNotFoundError):
            facts = path.stat()
            written_at = datetime.fromtimestamp(facts.st_mtime, UTC)
            yield StoredBytes(path.relative_to(folder).as_posix(), facts.st_size, written_at)


async def _see_mark(store: Store) -> None:
    if isinstance(store, LocalStore):
        with _read_by(OF_MARK):
            await obstore.head_async(store, MARK)


@contextmanager
def _read_by(table: Table) -> Iterator[None]:
    try:
        yield
    except ERRORS as error:
        raise failure_of(error, table) from error
