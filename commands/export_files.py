"""Files of an export: lines of JSON, packed, whole or not there at all, and never over another file."""

import gzip
import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from domain.jobs.failures import Invalid
from storage.jobs.audit_log.exports import Line, Range

PART = ".part"
"""The end of the name of a file that is being written."""
PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that is on its disk under its name."""

    file: str
    events: int
    sha256: str


class _Summing:
    """Writes to a file, and sums up what is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.sum = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.sum.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()


def check_folder(folder: Path) -> None:
    """Raise `Invalid` for a place in which no file can be made, before anything is begun."""
    if not folder.is_dir():
        raise Invalid("to", f"{folder} is no directory")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Invalid("to", f"{folder} cannot be written to")


def write(folder: Path, wanted: Range, lines: Iterable[Line]) -> WrittenFile:
    """Write the file of a range and its manifest.

    The names are the range's. A file of the same content is kept: it is what an earlier run wrote that did not come to
    record it. Raises `Invalid` for a file of other content, and for a disk that refuses.
    """
    name = f"audit-{wanted.after_id + 1:015d}-{wanted.upto_id:015d}"
    packed, manifest = folder / f"{name}.jsonl.gz", folder / f"{name}.json"
    try:
        events, sha256, ends = _pack(packed, lines)
        _publish(packed)
        facts = {
            "file": packed.name, "sha256": sha256, "events": events, "after_id": wanted.after_id,
            "upto_id": wanted.upto_id, "oldest_at": _plain(ends[0]), "newest_at": _plain(ends[1]),
        }  # fmt: skip
        with _part(manifest) as file:
            file.write(json.dumps(facts, indent=2).encode() + b"\n")
            _sync(file)
        _publish(manifest)
    except OSError as error:
        raise Invalid("to", f"{error.filename or folder}: {error.strerror}") from error
    finally:
        for path in (packed, manifest):
            _part_of(path).unlink(missing_ok=True)
    return WrittenFile(packed.name, events, sha256)


def _pack(path: Path, lines: Iterable[Line]) -> tuple[int, str, tuple[datetime | None, datetime | None]]:
    """Write the lines under the name of a part; returns their number, the file's checksum, the oldest and newest time.

    The same lines give the same bytes: no time of writing stands in the file.
    """
    events, oldest, newest = 0, None, None
    with _part(path) as file:
        summing = _Summing(file)
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=summing, mtime=0) as packer:
            for text, at in lines:
                packer.write(text.encode() + b"\n")
                events += 1
                oldest, newest = min(oldest or at, at), max(newest or at, at)
        _sync(file)
    return events, summing.sum.hexdigest(), (oldest, newest)


def _part_of(path: Path) -> Path:
    return path.with_name(f".{path.name}{PART}")


def _part(path: Path) -> BinaryIO:
    """The file's part, open for writing; what a crash left of it is gone. Others may not read what happened to mail."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    return os.fdopen(os.open(_part_of(path), flags, 0o600), "wb")


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _publish(path: Path) -> None:
    """Give a part that is on its disk its name; raises `Invalid` where another file has it."""
    part = _part_of(path)
    if path.exists():
        if _sum(path) != _sum(part):
            raise Invalid("to", f"{path} is there and is no file of this export; move it, or choose another directory")
    else:
        part.rename(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _sum(path: Path) -> bytes:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            found.update(piece)
    return found.digest()


def _plain(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat() if at else None
