"""Typed payloads: validated on the way in, upcast on read, never rewritten in place."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from domain.jobs.contract import first_problem
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject

Upcast = Callable[[JsonObject], JsonObject]
"""Turns a stored payload of one version into the next; pure and total."""


AnyPayload = TypeVar("AnyPayload", bound="Payload")


class Payload(BaseModel):
    """What a job type works on: ids and plain values, no secrets, no mail."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def document(self) -> JsonObject:
        """The payload as it is stored."""
        return self.model_dump(mode="json")


def read_payload(
    model: type[AnyPayload], stored: JsonObject, stored_version: int, *, version: int, upcasts: Mapping[int, Upcast]
) -> AnyPayload:
    """Upcast a stored payload step by step and validate it; raises `Invalid` with the field and the reason."""
    if stored_version > version:
        raise Invalid("payload_version", f"{stored_version} is newer than this worker knows ({version})")
    document = stored
    for step in range(stored_version, version):
        document = upcasts[step](document)
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise first_problem(error, under="payload.") from None
