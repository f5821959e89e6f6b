"""Why a connection to the broker, or to a Redis that counts, could not be made: in words for a log line and for doctor.

kombu and redis-py raise an error of their own with the cause behind it. The words are ours, the operating system's or
OpenSSL's, or an answer of the server; never those of an error about a URL, which may show a part of its password.
"""

import re
import socket
import ssl
from collections.abc import Iterator

from redis.exceptions import (
    AuthenticationError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)

from domain.diagnosis import Diagnosis
from domain.orgs.privacy.redaction import redact_text

DOCS = "(docs/howto/run-in-production.md#tls)"
FILES = "ssl_ca_certs, ssl_certfile and ssl_keyfile"
WRONG_NAME = (62, 64)
"""X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH of OpenSSL."""
WRONG_TIME = (9, 10)
"""X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED."""
ENDED = re.compile("closed (by server|connection)")
"""How redis-py and py-amqp say that the server ended the connection; neither has an error of its own for it."""
TURNED, UNSAVED = "UNBLOCKED", "MISCONF"
"""How a server's error begins: for clients that waited while it became a replica, and for a write that it could not
keep."""
MOST = 200
"""Characters of an answer that are shown."""


def diagnosis_of(error: BaseException, setting: str = "POSTROOM_BROKER_URL") -> Diagnosis:
    """Why no connection came about, by the first error of the chain that tells; `setting` is where its URL stands."""
    for each in _chain(error):
        found = _of_tls(each, setting) or _of_network(each, setting) or _of_answer(each, setting)
        if found is not None:
            return found
    if isinstance(error, (LookupError, ValueError, TypeError)):
        return Diagnosis(
            "its URL cannot be read", f"mend {setting}: redis://host:6379/0 or amqp://user@host:5672/vhost"
        )
    return Diagnosis(f"did not answer: {type(error).__name__}", _remedy_of_silence(setting))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _of_tls(error: BaseException, setting: str) -> Diagnosis | None:
    """Plaintext is advised only where a server speaks it, and with what it costs: it shows the password."""
    port = f"that the port in {setting} is the server's port for TLS {DOCS}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return _of_certificate(error, setting)
    if isinstance(error, ssl.SSLEOFError):
        return Diagnosis("ended the connection over TLS", f"see {port}; else see the server's log")
    if isinstance(error, TimeoutError) and "handshake" in str(error):
        return Diagnosis("did not answer: its handshake for TLS timed out", f"see that the server lives, and {port}")
    if getattr(error, "reason", None) == "WRONG_VERSION_NUMBER":
        remedy = (
            f"name the server's port for TLS in {setting}; if it has none, and nobody else can read that network, write"
            f" redis:// or amqp:// {DOCS}"
        )
        return Diagnosis("answers in plaintext, not in TLS", remedy)
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or _text(error)).replace("_", " ").lower()
        return Diagnosis(f"TLS failed: {reason}", f"see {FILES} in {setting} {DOCS}")
    return None


def _of_certificate(error: ssl.SSLCertVerificationError, setting: str) -> Diagnosis:
    finding = f"its certificate is not taken: {error.verify_message.rstrip('.')}"
    if error.verify_code in WRONG_NAME:
        remedy = f"write the name that it bears as the host in {setting}, or add ssl_check_hostname=false {DOCS}"
    elif error.verify_code in WRONG_TIME:
        remedy = "renew the server's certificate, or set this machine's clock"
    else:
        remedy = f"trust its authority: {setting}=…?ssl_ca_certs=FILE {DOCS}"
    return Diagnosis(finding, remedy)


def _of_network(error: BaseException, setting: str) -> Diagnosis | None:
    said = _text(error)
    if isinstance(error, (ConnectionResetError, BrokenPipeError)) or (
        isinstance(error, (OSError, RedisError)) and ENDED.search(said)
    ):
        remedy = f"if that port is for TLS, write rediss:// or amqps:// in {setting} {DOCS}; else see the server's log"
        return Diagnosis(f"ended the connection: {said}", remedy)
    if isinstance(error, (FileNotFoundError, PermissionError, IsADirectoryError)):
        return Diagnosis(f"a file of its URL cannot be read: {said}", f"see {FILES} in {setting} {DOCS}")
    if isinstance(error, socket.gaierror):
        return Diagnosis(f"its host is not found: {said}", f"mend the host in {setting}")
    if isinstance(error, OSError):
        return Diagnosis(f"did not answer: {said or type(error).__name__}", _remedy_of_silence(setting))
    return None


def _of_answer(error: BaseException, setting: str) -> Diagnosis | None:
    """What the server itself said; AMQP's errors have its code."""
    said = _text(error)
    if isinstance(error, ReadOnlyError) or (isinstance(error, ResponseError) and said.startswith(TURNED)):
        return Diagnosis(
            f"takes no writes: it is a replica: {said}", f"promote it, or let {setting} lead to the primary"
        )
    if isinstance(error, OutOfMemoryError):
        return Diagnosis(f"takes no writes: its memory is full: {said}", "raise its maxmemory, or see what fills it")
    if isinstance(error, ResponseError) and said.startswith(UNSAVED):
        return Diagnosis(
            f"takes no writes: {said}", "see in the server's log why it cannot save its data: a full disk?"
        )
    if isinstance(error, NoPermissionError):
        remedy = f"give the login of {setting} all commands, keys and channels: ACL SETUSER name ~* &* +@all"
        return Diagnosis(f"refuses: {said}", remedy)
    if isinstance(error, (AuthenticationError, ResponseError)) or getattr(error, "reply_code", None):
        return Diagnosis(f"refuses: {said}", f"mend the login, the path or the server's rights for {setting}")
    return None


def _remedy_of_silence(setting: str) -> str:
    return f"start the server and see that {setting} is right"


def _text(error: BaseException) -> str:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return redact_text(" ".join(said.split()), MOST)[:MOST]
