"""Signing certificates, fetched seldom and kept while they are fresh: Google's, and the keys of another issuer."""

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import httplib2

from domain.jobs.failures import Transient
from providers.google.failures import ERRORS
from providers.google.transport import NoReplayHttp

OK = 200
UNSAID_AGE_S = 3600.0
LONGEST_AGE_S = 86400.0
"""A certificate that Google withdrew is believed for a day at most, whatever the header said."""
QUIET_S = 30.0
"""Forged key ids, or an endpoint that fails, cause at most one fetch in this many seconds."""

LONGEST = 1024 * 1024
"""Bytes that are read of them; Google's are 2 kB."""

_MAX_AGE = re.compile(r"max-age=(\d{1,9})")


@dataclass(frozen=True, slots=True)
class _Held:
    certificates: Mapping[str, str]
    fresh_until: float
    quiet_until: float


def read_certificates(content: bytes) -> Mapping[str, str]:
    """Google's answer, `{key id: PEM}`; raises `ValueError` for any other."""
    found = json.loads(content)
    if not isinstance(found, dict) or not all(isinstance(pem, str) for pem in found.values()):
        raise ValueError("no certificates as {key id: PEM}")
    return found


class CertificateStore:
    """Certificates by address and key id, shared by the threads of a process.

    `read` makes `{key id: certificate}` of an answer, or raises one of `ERRORS`. `clock` is monotonic, in seconds.
    """

    def __init__(
        self,
        *,
        timeout_s: float,
        read: Callable[[bytes], Mapping[str, str]] = read_certificates,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Hold nothing yet."""
        self._timeout_s = timeout_s
        self._read = read
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[str, _Held] = {}

    def certificates(self, url: str, key_id: str) -> Mapping[str, str]:
        """The certificates at the address as `{key id: PEM}`, with the key if their issuer knows it.

        Fetches when nothing fresh is held, or when the key is new and the last fetch long enough ago.
        Raises `Transient` when they cannot be had.
        """
        with self._lock:
            held = self._held.get(url)
            if held is None or self._is_due(held, key_id):
                held = self._held[url] = self._fetch(url, held)
        if not held.certificates:
            raise Transient("certificates were not to be had a moment ago", code="google.certificates")
        return held.certificates

    def _is_due(self, held: _Held, key_id: str) -> bool:
        now = self._clock()
        wanted = now >= held.fresh_until or key_id not in held.certificates
        return wanted and now >= held.quiet_until

    def _fetch(self, url: str, before: _Held | None) -> _Held:
        """A failed fetch keeps fresh certificates, or none, and is not repeated at once."""
        try:
            certificates, age_s = self._download(url)
        except ERRORS:
            certificates, age_s = {}, 0.0
        now = self._clock()
        if not certificates and before is not None and now < before.fresh_until:
            return replace(before, quiet_until=now + QUIET_S)
        return _Held(certificates, now + age_s, now + QUIET_S)

    def _download(self, url: str) -> tuple[Mapping[str, str], float]:
        response, content = NoReplayHttp(timeout_s=self._timeout_s, longest=LONGEST).request(url)
        if response.status != OK:
            raise ValueError(f"status {response.status}")
        return self._read(content), _age_s(response)


def _age_s(response: httplib2.Response) -> float:
    said = _MAX_AGE.search(response.get("cache-control", ""))
    if said is None:
        return UNSAID_AGE_S
    return min(float(said[1]) - float(response.get("age", 0)), LONGEST_AGE_S)
