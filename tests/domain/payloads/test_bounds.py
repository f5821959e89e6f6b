"""No payload takes a number, an id of Gmail's or a list without an end: a wrong one is refused by its field."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from domain.jobs.failures import Invalid
from domain.payloads import payload_types
from domain.payloads.gmail import SyncPayload
from domain.payloads.payload import Payload

BOUNDS = {
    "integer": ({"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}),
    "number": ({"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}),
    "array": ({"maxItems"},),
    "string": ({"maxLength", "pattern", "format"},),
}
UNBOUND = {"maintenance.reconcile_effects after_key"}
"""Where the fleet itself says how far it came: a key of an effect, as long as the ledger takes them."""


def endless(schema: object, where: str) -> Iterator[str]:
    """The places of a JSON Schema that lack a bound."""
    if isinstance(schema, dict):
        is_chosen = {"enum", "const"} & set(schema)
        for needed in () if is_chosen else BOUNDS.get(str(schema.get("type")), ()):
            if not needed & set(schema):
                yield where
        for name, inner in schema.items():
            yield from endless(inner, f"{where} {name}" if where.count(" ") == 0 else where)
    elif isinstance(schema, list):
        for inner in schema:
            yield from endless(inner, where)


OURS = [one for one in payload_types if one.__module__.startswith("domain.payloads.")]


@pytest.mark.parametrize("payload", OURS, ids=lambda one: str(one.declaration.job_type))
def test_every_value_has_an_end(payload: type[Payload]) -> None:
    schema: dict[str, Any] = payload.model_json_schema()
    parts = schema.get("properties", {}), schema.get("$defs", {})
    found = {place for part in parts for place in endless(part, payload.declaration.job_type)}
    assert found - UNBOUND == set()


@pytest.mark.parametrize("history_id", [-5, "-5", 2**64, "9" * 21, 1.5])
def test_a_history_id_is_a_number_of_64_bits(history_id: object) -> None:
    with pytest.raises(Invalid, match="history_id"):
        SyncPayload.read({"account_id": str(UUID(int=1)), "history_id": history_id}, 1)


def test_text_and_numbers_are_one_history_id() -> None:
    given = [SyncPayload.read({"account_id": str(UUID(int=1)), "history_id": one}, 1) for one in (7, "7", 2**64 - 1)]
    assert [one.history_id for one in given] == [7, 7, 2**64 - 1]
