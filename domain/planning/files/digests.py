"""The header by which a client says what it sends: `Content-Digest` (RFC 9530)."""

import base64
import binascii
import re

from domain.jobs.failures import Invalid

FIELD = "Content-Digest"
ALGORITHM = "sha-256"
WANTED = {"Want-Content-Digest": f"{ALGORITHM}=10"}
"""How an answer says which digest is checked (RFC 9530, section 4)."""
_MEMBER = re.compile(r"\s*([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):\s*")
LENGTH = 32


def read_content_digest(header: str | None) -> str | None:
    """The SHA-256 that the header names, as hexadecimal digits; None without a header.

    Raises `Invalid` for one that names none: what its client wants to be checked would be checked by nobody.
    """
    if header is None:
        return None
    members = [_MEMBER.fullmatch(one) for one in header.split(",")]
    for member in members:
        if member is not None and member[1] == ALGORITHM:
            try:
                digest = base64.b64decode(member[2], validate=True)
            except (ValueError, binascii.Error):
                break
            if len(digest) == LENGTH:
                return digest.hex()
    raise Invalid(FIELD, "names no SHA-256: sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:")


def check_digest(wanted: str | None, sha256: str) -> None:
    """Raise `Invalid` where the body is another than its header says."""
    if wanted is not None and wanted != sha256:
        raise Invalid(FIELD, f"is not the body's, which is {written(sha256)}")


def written(sha256: str) -> str:
    """A digest as the header writes it."""
    return f"{ALGORITHM}=:{base64.b64encode(bytes.fromhex(sha256)).decode()}:"
