"""Where artifacts lie, as an operator writes it: `file:///folder`, or a bucket with its region, address and key."""

import re
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import AfterValidator, SecretStr

FOLDER = "must be a folder's whole path as file:///var/lib/postroom/artifacts, or a bucket as s3://bucket/prefix"
OPTIONS = ("region", "endpoint")
ENDPOINT = "endpoint must be an address as https://minio.example.org:9000, without a name, password, query or fragment"
MARK = ".postroom-artifacts"
"""The file in a folder that says that it is the store: without it the folder's volume is away."""
REGION = "us-east-1"
"""Where nobody names another: what servers of S3's kind take that have no regions."""

_ADDRESS = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?(?:/[A-Za-z0-9._~/-]*)?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
MOST_PORT = 65535


@dataclass(frozen=True, slots=True)
class ArtifactsPlace:
    """A folder, or a bucket."""

    folder: str | None = None
    bucket: str = ""
    prefix: str = ""
    region: str = REGION
    endpoint: str = ""
    """Another address than Amazon's."""
    access_key: str = ""
    """The id of the key. Empty: what Amazon's own tools take, the environment or the machine's role."""
    secret_key: str = field(default="", repr=False)


def read_artifacts_url(url: SecretStr) -> ArtifactsPlace:
    """What the URL names; raises `ValueError` that says what is wrong, without a part of a key."""
    try:
        parts = urlsplit(url.get_secret_value())
        bucket = parts.hostname or ""
    except ValueError:
        raise ValueError(FOLDER) from None
    if parts.scheme == "file" and not parts.netloc and parts.path.strip("/") and not parts.query:
        return ArtifactsPlace(folder=unquote(parts.path))
    if parts.scheme != "s3" or not bucket or parts.fragment:
        raise ValueError(FOLDER)
    options = dict(parse_qsl(parts.query))
    if not set(options) <= set(OPTIONS):
        raise ValueError(f"has an option that is not known here; what may stand there: {', '.join(OPTIONS)}")
    endpoint = options.get("endpoint", "")
    if endpoint and not _is_endpoint(endpoint):
        raise ValueError(ENDPOINT)
    if bool(parts.username) != bool(parts.password):
        raise ValueError("needs a key as a whole: s3://ID:SECRET@bucket; in a secret / is written %2F")
    return ArtifactsPlace(
        bucket=bucket,
        prefix=unquote(parts.path).strip("/"),
        region=options.get("region", REGION),
        endpoint=endpoint,
        access_key=unquote(parts.username or ""),
        secret_key=unquote(parts.password or ""),
    )


def checked_artifacts_url(url: SecretStr) -> SecretStr:
    """The same URL; raises `ValueError` for one that names no store."""
    read_artifacts_url(url)
    return url


def _is_endpoint(text: str) -> bool:
    """Whether the store's library can send a request there: its parser ends the process's call by a panic if not.

    A name whose last part is a number is an IPv4 address (https://url.spec.whatwg.org/#host-parsing).
    """
    address = _ADDRESS.fullmatch(text)
    if address is None or not 0 < int(address[2] or 1) <= MOST_PORT:
        return False
    host = address[1]
    try:
        if host.startswith("["):
            IPv6Address(host[1:-1])
        elif _NUMBER.fullmatch(host.removesuffix(".").rpartition(".")[2]):
            IPv4Address(host)
        else:
            # Refuses empty and long parts, and what only looks like a name in other letters.
            host.encode("idna").decode("idna")
    except ValueError:
        return False
    return True


ArtifactsUrl = Annotated[SecretStr, AfterValidator(checked_artifacts_url)]
