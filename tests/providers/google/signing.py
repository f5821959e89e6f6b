"""Push tokens signed as Google signs them, with keys of our own."""

import time
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import crypt, jwt

AUDIENCE = "https://postroom.example.com/webhooks/gmail"
SENDER = "push@project.example.com"


class Signer:
    """A key with its certificate, as Google publishes them."""

    def __init__(self, key_id: str) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "push")])
        builder = x509.CertificateBuilder(name, name, key.public_key(), 1, datetime(2020, 1, 1), datetime(2099, 1, 1))  # noqa: DTZ001  # certificates take naive UTC
        certificate = builder.sign(key, hashes.SHA256())
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        self.key_id = key_id
        self.certificates = {key_id: certificate.public_bytes(serialization.Encoding.PEM).decode()}
        self._signer = crypt.RSASigner.from_string(pem, key_id)  # type: ignore[no-untyped-call]  # untyped library

    def header(self, **changes: object) -> str:
        now = int(time.time())
        claims: dict[str, object] = {
            "iss": "https://accounts.google.com",
            "aud": AUDIENCE,
            "email": SENDER,
            "email_verified": True,
            "iat": now,
            "exp": now + 3600,
            **changes,
        }
        kept = {name: value for name, value in claims.items() if value is not None}
        token: bytes = jwt.encode(self._signer, kept)  # type: ignore[no-untyped-call]  # untyped library
        return "Bearer " + token.decode()
