"""S3's objects: put if absent, get with a range, head, list, delete; enough for a store of artifacts.

Sources: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html, API_GetObject.html, API_ListObjectsV2.html,
API_DeleteObjects.html and ErrorResponses.html.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from threading import Lock
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import Answer, ApiFailure, Call, Route
from sandbox.s3.signatures import check_signature

BUCKET = "postroom"
ACCESS_KEY, SECRET_KEY = "emulated-key", "emulated-secret"
MOST_LISTED = 1000
NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
XML = {"Content-Type": "application/xml"}
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


@dataclass(frozen=True, slots=True)
class StoredObject:
    """The content of a key."""

    data: bytes = field(repr=False)
    at: float

    @property
    def etag(self) -> str:
        """S3's own: the MD5 of an object that came in one part."""
        return f'"{hashlib.md5(self.data, usedforsecurity=False).hexdigest()}"'

    def headers(self) -> dict[str, str]:
        """What an answer about it says."""
        modified = format_datetime(datetime.fromtimestamp(self.at, UTC), usegmt=True)
        return {"ETag": self.etag, "Last-Modified": modified, "Content-Type": "application/octet-stream"}


class S3Service:
    """One bucket, one key."""

    def __init__(self) -> None:
        """Begin with an empty bucket."""
        self.clock = EmulatorClock()
        self.objects: dict[str, StoredObject] = {}
        self.room: int | None = None
        """How many bytes the bucket may hold; None for any number."""
        self._lock = Lock()
        keys = ("/{bucket}/{a}/{b}", "/{bucket}/{a}/{b}/{c}", "/{bucket}/{a}")
        self.routes: Sequence[Route] = (
            *(Route("PUT", key, "objects.put", self.put) for key in keys),
            *(Route("GET", key, "objects.get", self.get) for key in keys),
            *(Route("HEAD", key, "objects.head", self.head) for key in keys),
            *(Route("DELETE", key, "objects.delete", self.delete) for key in keys),
            Route("GET", "/{bucket}", "objects.list", self.list),
            Route("POST", "/{bucket}", "objects.delete_many", self.delete_many),
        )

    def identify(self, call: Call) -> str | None:
        """The id of the key that signed."""
        return check_signature(call, {ACCESS_KEY: SECRET_KEY}, self.clock.now())

    @contextmanager
    def admit(self, call: Call) -> Iterator[None]:
        """Refuse another bucket."""
        if call.parameters["bucket"] != BUCKET:
            raise ApiFailure(404, "NoSuchBucket", "The specified bucket does not exist")
        yield

    def render(self, call: Call, failure: ApiFailure) -> Answer:
        """S3's error; one for a HEAD has no body."""
        if call.method == "HEAD":
            return Answer(failure.status)
        words = f"<Code>{escape(failure.reason)}</Code><Message>{escape(failure.message)}</Message>"
        return Answer(failure.status, f"<Error>{words}</Error>".encode(), XML)

    def put(self, call: Call) -> Answer:
        """`PutObject`; with `If-None-Match: *` only where nothing lies."""
        key, made = _key(call), StoredObject(call.body, self.clock.now())
        with self._lock:
            if call.headers.get("if-none-match") == "*" and key in self.objects:
                raise ApiFailure(412, "PreconditionFailed", "At least one of the pre-conditions did not hold")
            held = sum(len(one.data) for one in self.objects.values())
            if self.room is not None and held + len(call.body) > self.room:
                raise ApiFailure(403, "QuotaExceeded", "The bucket is full")
            self.objects[key] = made
        return Answer(headers={"ETag": made.etag}, summary={"key": key, "bytes": len(call.body)})

    def get(self, call: Call) -> Answer:
        """`GetObject`, whole or a range."""
        found = self._found(call)
        wanted = _RANGE.fullmatch(call.headers.get("range", ""))
        if wanted is None:
            return Answer(200, found.data, found.headers(), {"bytes": len(found.data)})
        start, end = int(wanted[1]), min(int(wanted[2] or len(found.data)) + 1, len(found.data))
        if start >= len(found.data):
            raise ApiFailure(416, "InvalidRange", "The requested range is not satisfiable")
        part = {"Content-Range": f"bytes {start}-{end - 1}/{len(found.data)}"}
        return Answer(206, found.data[start:end], found.headers() | part, {"bytes": end - start})

    def head(self, call: Call) -> Answer:
        """`HeadObject`: the headers of a get."""
        found = self._found(call)
        return Answer(200, found.data, found.headers())

    def delete(self, call: Call) -> Answer:
        """`DeleteObject`; 204 also where nothing lay."""
        with self._lock:
            self.objects.pop(_key(call), None)
        return Answer(204, summary={"key": _key(call)})

    def delete_many(self, call: Call) -> Answer:
        """`DeleteObjects`: each named key; one that was not there counts as deleted."""
        if "delete" not in call.query:
            raise ApiFailure(400, "InvalidRequest", "no such operation")
        named = ET.fromstring(call.body).iter(f"{{{NAMESPACE}}}Key")  # noqa: S314  # the tester's own request
        keys = [one.text or "" for one in named]
        with self._lock:
            for key in keys:
                self.objects.pop(key, None)
        deleted = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        body = f'<DeleteResult xmlns="{NAMESPACE}">{deleted}</DeleteResult>'
        return Answer(200, body.encode(), XML, {"keys": keys})

    def list(self, call: Call) -> Answer:
        """`ListObjectsV2`: at most a thousand keys in order, after `start-after` or where a token goes on."""
        prefix, after = call.first("prefix"), call.first("continuation-token") or call.first("start-after")
        with self._lock:
            keys = sorted(key for key in self.objects if key.startswith(prefix) and key > after)
            shown = [(key, self.objects[key]) for key in keys[:MOST_LISTED]]
        is_cut = len(keys) > len(shown)
        token = f"<NextContinuationToken>{escape(shown[-1][0])}</NextContinuationToken>" if is_cut else ""
        contents = "".join(_listed(key, one) for key, one in shown)
        body = (
            f'<ListBucketResult xmlns="{NAMESPACE}"><Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix>'
            f"<KeyCount>{len(shown)}</KeyCount><MaxKeys>{MOST_LISTED}</MaxKeys>"
            f"<IsTruncated>{str(is_cut).lower()}</IsTruncated>{token}{contents}</ListBucketResult>"
        )
        return Answer(200, body.encode(), XML, {"keys": len(shown)})

    def reset(self) -> None:
        """An empty bucket."""
        with self._lock:
            self.objects.clear()
            self.room = None
        self.clock.reset()

    def close(self) -> None:
        """Nothing runs in the background."""

    def _found(self, call: Call) -> StoredObject:
        with self._lock:
            found = self.objects.get(_key(call))
        if found is None:
            raise ApiFailure(404, "NoSuchKey", "The specified key does not exist.")
        return found


def _key(call: Call) -> str:
    return "/".join(call.parameters[name] for name in ("a", "b", "c") if name in call.parameters)


def _listed(key: str, one: StoredObject) -> str:
    modified = f"{datetime.fromtimestamp(one.at, UTC):%Y-%m-%dT%H:%M:%S.000Z}"
    facts = {"Key": key, "LastModified": modified, "ETag": one.etag, "Size": str(len(one.data))}
    return f"<Contents>{''.join(f'<{name}>{escape(value)}</{name}>' for name, value in facts.items())}</Contents>"
