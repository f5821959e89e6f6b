"""A server on the loopback that keeps what its clients say first, in plaintext or behind TLS."""

import select
import socket
import ssl
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sandbox.servers.free_port import LOOPBACK

CLIENT_HELLO = b"\x16\x03"
"""How TLS begins: a record of the handshake, of a version 3.x."""

READ_WITHIN_S = 5.0


class Listener:
    """What each client said first; with an `upstream` port, all that follows is forwarded there."""

    def __init__(self, certificate: Path | None = None, upstream: int | None = None) -> None:
        """Listen on a free port; with a file of a key and a certificate, behind TLS."""
        self.heard: list[bytes] = []
        self._upstream = upstream
        self._context = None
        if certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificate)
        self._server = socket.create_server((LOOPBACK, 0))
        self.port: int = self._server.getsockname()[1]
        self._open: list[socket.socket] = []
        self._threads = [Thread(target=self._accept)]

    @property
    def all_heard(self) -> bytes:
        """Everything, of all clients."""
        return b"".join(self.heard)

    def __enter__(self) -> Self:
        """Begin."""
        self._threads[0].start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Close every connection, and listen no more."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join()
        for end in (*self._open, self._server):
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._keep(self._server.accept()[0])
                self._threads.append(Thread(target=self._listen, args=(client,)))
                self._threads[-1].start()

    def _keep(self, end: socket.socket) -> socket.socket:
        end.settimeout(READ_WITHIN_S)
        self._open.append(end)
        return end

    def _listen(self, client: socket.socket) -> None:
        with suppress(OSError):
            if self._context is not None:
                client = self._keep(self._context.wrap_socket(client, server_side=True))
            said = client.recv(4096)
            self.heard.append(said)
            if said and self._upstream is not None:
                upstream = self._keep(socket.create_connection((LOOPBACK, self._upstream)))
                upstream.sendall(said)
                _forward(client, upstream)
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


def _forward(client: socket.socket, upstream: socket.socket) -> None:
    """Until one side ends. By one thread: TLS cannot be read and written by two at once."""
    others = {client: upstream, upstream: client}
    while True:
        for end in select.select(list(others), [], [])[0]:
            said = end.recv(65_536)  # more than a record of TLS holds, so that nothing is left of it
            if not said:
                upstream.shutdown(socket.SHUT_RDWR)
                return
            others[end].sendall(said)


def make_certificate(folder: Path, name: str = LOOPBACK, ends_in: timedelta = timedelta(days=1)) -> Path:
    """A file with a fresh key and the certificate for a name or an address that it has signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=2))
        .not_valid_after(now + ends_in)
        .add_extension(x509.SubjectAlternativeName([_general(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{name}.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


def _general(name: str) -> x509.GeneralName:
    with suppress(ValueError):
        return x509.IPAddress(ip_address(name))
    return x509.DNSName(name)
