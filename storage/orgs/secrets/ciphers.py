"""AES-256-GCM and HKDF-SHA-256 for the sealer, which loads them when it is first made: they cost a process 6 MiB."""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def derive(secret: str, purpose: bytes, length: int) -> bytes:
    """So many bytes for one purpose from a secret; other purposes' bytes tell nothing of them."""
    return HKDF(algorithm=SHA256(), length=length, salt=None, info=purpose).derive(secret.encode())


def encrypt(key: bytes, nonce: bytes, content: bytes, bound: bytes) -> bytes:
    """The sealed content with its tag; a nonce is used once per key. `bound` must be the same at the opening."""
    return AESGCM(key).encrypt(nonce, content, bound)


def decrypt(key: bytes, nonce: bytes, sealed: bytes, bound: bytes) -> bytes | None:
    """The content; None when anything about it was changed."""
    try:
        return AESGCM(key).decrypt(nonce, sealed, bound)
    except InvalidTag:
        return None
