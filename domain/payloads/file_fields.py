"""Fields that payloads of jobs on files share."""

from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, StringConstraints


def _zone(name: str) -> str:
    try:
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("is no time zone such as Europe/Berlin") from None


ZoneName = Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(_zone)]
"""A zone of the IANA database."""
OwnZone = Annotated[ZoneName | None, Field(examples=["Europe/Berlin"])]
"""None is the project's."""
