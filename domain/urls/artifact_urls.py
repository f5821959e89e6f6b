"""Where artifacts lie, as an operator writes it: `file:///folder`, or a bucket with its region, address and key."""

from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import AfterValidator, SecretStr

FOLDER = "must be a folder's whole path as file:///var/lib/postroom/artifacts, or a bucket as s3://bucket/prefix"
OPTIONS = ("region", "endpoint")
REGION = "us-east-1"
"""Where nobody names another: what servers of S3's kind take that have no regions."""


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
    if endpoint and not endpoint.startswith(("https://", "http://")):
        raise ValueError("endpoint must be an address with https or http")
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


ArtifactsUrl = Annotated[SecretStr, AfterValidator(checked_artifacts_url)]
