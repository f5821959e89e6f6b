"""Fields that payloads of jobs on files share."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from domain.jobs.scheduling.zones import zone_names


def _zone(name: str) -> str:
    if name not in zone_names():
        raise ValueError("is no time zone such as Europe/Berlin")
    return name


ZoneName = Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(_zone)]
"""A zone of the IANA database, by the name with its region."""
OwnZone = Annotated[ZoneName | None, Field(examples=["Europe/Berlin"])]
"""None is the project's."""
