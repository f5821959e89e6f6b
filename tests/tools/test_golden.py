"""The golden payloads of new job types and versions are made up, the same each time, and never overwrite one."""

import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from domain.payloads import payload_types
from domain.payloads.payload import Payload
from domain.payloads.registry import Registry
from tools.golden import golden_file, made_up, write_missing

ALONE: Registry[type[Payload]] = Registry()
FLEET = [payload for payload in payload_types if payload.__module__.startswith("domain.payloads.")]


class Colour(StrEnum):
    RED = "red"


class Slot(BaseModel):
    begins: datetime
    ends: datetime


class Everything(Payload, job_type="probe.everything", registry=ALONE):
    """A field of each kind."""

    account_id: UUID
    thread_id: str
    count: int
    share: float
    cost: Decimal
    wanted: bool
    day: date
    length: timedelta
    colour: Colour
    action: Literal["done", "undone"]
    maybe: int | None = None
    short: Annotated[str, Field(max_length=9)]
    known: str = Field(examples=["an example"])
    slots: list[Slot]
    pair: tuple[str, int]
    limits: dict[str, int]


@pytest.mark.parametrize("payload", [*FLEET, Everything], ids=lambda payload: payload.declaration.job_type)
def test_every_field_gets_a_value_that_can_be_read(payload: type[Payload]) -> None:
    document = made_up(payload)
    assert document == made_up(payload)
    assert set(document) == set(payload.model_fields)
    assert None not in document.values()
    stored = json.loads(json.dumps(document))
    assert payload.read(stored, payload.declaration.version).document() == document


def test_an_example_is_taken_where_the_field_gives_one() -> None:
    assert made_up(Everything)["known"] == "an example"


class Vague(Payload, job_type="probe.vague", registry=ALONE):
    """A field of any type."""

    thing: Any


class Fussy(Payload, job_type="probe.fussy", registry=ALONE):
    """A field whose rule no made-up value keeps."""

    code: str = Field(pattern=r"^\d{4}$")


@pytest.mark.parametrize(("payload", "words"), [(Vague, "thing: no value"), (Fussy, "code: String should")])
def test_a_field_without_a_value_is_named_with_the_remedy(payload: type[Payload], words: str) -> None:
    with pytest.raises(ValueError, match=words) as refusal:
        made_up(payload)
    assert "examples=" in str(refusal.value)


def test_only_what_is_missing_is_written(tmp_path: Path) -> None:
    kept = golden_file(tmp_path, FLEET[0])
    kept.write_text("kept")
    written = write_missing(tmp_path)
    assert {path.name for path in written} == {golden_file(tmp_path, one).name for one in FLEET[1:]}
    assert kept.read_text() == "kept"
    assert write_missing(tmp_path) == []
