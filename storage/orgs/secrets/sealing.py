"""Seals tokens and secrets: a fresh data key per record, wrapped by a key of the settings, bound to its row.

A sealed record is `version (1) | key id (8) | nonce (12) | wrapped data key (48) | nonce (12) | ciphertext`. Both
layers are AES-256-GCM; the row's id, the field's name and the record's own head are their associated data, so a
record that is copied to another row or column does not open.
"""

import hashlib
import hmac
import importlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from pydantic import SecretStr

from domain.jobs.failures import ForOtherWorker, Permanent
from domain.jobs.job import SYSTEM_ORG
from settings import Settings

TokenField = Literal["access_token", "refresh_token"]

_VERSION = b"\x01"
_NONCE = 12
_DATA_KEY = 32
_TAG = 16
_KEY_ID = 8
_SIGNATURE = 16
_HEAD = len(_VERSION) + _KEY_ID
_WRAPPED = _HEAD + _NONCE + _DATA_KEY + _TAG
_SHORTEST = _WRAPPED + _NONCE + _TAG


class SealBroken(Permanent):
    """A sealed token cannot be opened; the reason never carries its content."""

    code = "seal.broken"


class UnknownSealKey(ForOtherWorker):
    """A token was sealed by a key that this process was not given; another process, or this one later, may have it."""

    code = "seal.unknown_key"


@dataclass(frozen=True, slots=True)
class SealedField:
    """Where a token belongs; it opens nowhere else."""

    account_id: UUID
    field: TokenField

    @property
    def bound(self) -> bytes:
        """The place as associated data."""
        return f"postroom:{self.account_id}:{self.field}".encode()

    def __str__(self) -> str:
        """The place in words."""
        return f"the {self.field} of account {self.account_id}"


@dataclass(frozen=True, slots=True)
class SecretPlace:
    """Where a secret of an org belongs; it opens nowhere else."""

    org_id: UUID
    name: str

    @property
    def bound(self) -> bytes:
        """The place as associated data; an account's begins with an id, this with a word."""
        return f"postroom:org_secret:{self.org_id}:{self.name}".encode()

    def __str__(self) -> str:
        """The place in words."""
        return f"the secret {self.name} of org {self.org_id}"


REFUSED_MESSAGE = SecretPlace(SYSTEM_ORG, "refused_message")
"""Where the content of a message belongs that could not become a job."""


@dataclass(frozen=True, slots=True, repr=False)
class SealedToken:
    """A sealed record as it stands in the database; printing it shows nothing."""

    data: bytes

    def __repr__(self) -> str:
        """Its kind and length only."""
        return f"SealedToken({len(self.data)} bytes)"

    @property
    def key_id(self) -> bytes:
        """Which of the sealing keys sealed it."""
        return self.data[len(_VERSION) : _HEAD]


@dataclass(frozen=True, slots=True, repr=False)
class _WrappingKey:
    """Two independent values from one secret: the key itself, and a name by which it is found."""

    key_id: bytes
    key: bytes


class Sealer:
    """Seals with the first of its keys and opens with any of them, so that keys can be rotated."""

    def __init__(self, keys: Sequence[str]) -> None:
        """Derive a wrapping key from each secret; there must be one at least, none empty."""
        if not keys or not all(keys):
            raise ValueError("there must be at least one sealing key, and none may be empty")
        ciphers: Any = importlib.import_module("storage.orgs.secrets.ciphers")
        self._ciphers = ciphers
        wrapping = [
            _WrappingKey(
                ciphers.derive(key, b"postroom sealing: key id", _KEY_ID),
                ciphers.derive(key, b"postroom sealing: key", _DATA_KEY),
            )
            for key in keys
        ]
        self._first = wrapping[0]
        self._signing = [ciphers.derive(key, b"postroom signing: key", _DATA_KEY) for key in keys]
        self._by_id = {key.key_id: key for key in wrapping}

    @classmethod
    def of(cls, settings: Settings) -> "Sealer":
        """The sealer of an installation."""
        return cls([key.strip() for key in settings.sealing_keys.get_secret_value().split(",") if key.strip()])

    @property
    def key_id(self) -> bytes:
        """The name of the key that seals; not secret."""
        return self._first.key_id

    @property
    def key_ids(self) -> tuple[bytes, ...]:
        """The names of all its keys."""
        return tuple(self._by_id)

    def seal(self, token: SecretStr, place: SealedField | SecretPlace) -> SealedToken:
        """Seal a token for one place, each time into different bytes."""
        head = _VERSION + self._first.key_id
        data_key, outer, inner = (
            secrets.token_bytes(_DATA_KEY),
            secrets.token_bytes(_NONCE),
            secrets.token_bytes(_NONCE),
        )
        bound = head + place.bound
        wrapped = self._ciphers.encrypt(self._first.key, outer, data_key, bound)
        content = self._ciphers.encrypt(data_key, inner, token.get_secret_value().encode(), bound)
        return SealedToken(head + outer + wrapped + inner + content)

    def open(self, sealed: SealedToken, place: SealedField | SecretPlace) -> SecretStr:
        """The token; raises `SealBroken` when it was changed or moved, `UnknownSealKey` when its key is not here."""
        data = sealed.data
        if len(data) < _SHORTEST or data[:1] != _VERSION:
            raise SealBroken(f"{place} is no sealed record")
        key = self._by_id.get(sealed.key_id)
        if key is None:
            raise UnknownSealKey(f"{place} was sealed by a key that is not in the settings")
        bound = data[:_HEAD] + place.bound
        outer, inner = data[_HEAD:_WRAPPED], data[_WRAPPED:]
        data_key = self._ciphers.decrypt(key.key, outer[:_NONCE], outer[_NONCE:], bound)
        content = data_key and self._ciphers.decrypt(data_key, inner[:_NONCE], inner[_NONCE:], bound)
        if content is None:
            raise SealBroken(f"{place} was changed or moved here")
        return SecretStr(content.decode())

    def sign(self, message: bytes) -> bytes:
        """A signature of 16 bytes under the first key: for a link that nobody else may make up."""
        return self._signature(self._signing[0], message)

    def is_signed(self, message: bytes, signature: bytes) -> bool:
        """Whether one of the keys has signed the message."""
        return any(hmac.compare_digest(self._signature(key, message), signature) for key in self._signing)

    @staticmethod
    def _signature(key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, hashlib.sha256).digest()[:_SIGNATURE]

    def reseal(self, sealed: SealedToken, place: SealedField | SecretPlace) -> SealedToken:
        """The same token under the first key; the record itself when that key sealed it already."""
        return sealed if sealed.key_id == self.key_id else self.seal(self.open(sealed, place), place)
