"""What `workflows.run` and `workflows.advance` carry."""

from uuid import UUID

import pytest

from domain.jobs.failures import Invalid
from domain.jobs.uniqueness import UniqueMode
from domain.payloads.payload import payload_types
from domain.payloads.workflows import LARGEST_INPUT, AdvancePayload, RunPayload


def test_a_run_is_asked_for_by_either_name_and_is_not_unique() -> None:
    assert payload_types.find("workflows.run") is payload_types.find("ENGINE_RUN") is RunPayload
    assert RunPayload.declaration.unique is None
    accepted = RunPayload.accept({"workflow": "morning-brief"}, None)
    assert accepted.payload == {"workflow": "morning-brief", "version": None, "input": {}}


def test_one_advance_of_a_run_waits_and_one_is_under_way() -> None:
    declared = AdvancePayload.declaration
    assert payload_types.find("workflows.advance") is AdvancePayload
    assert declared.unique is not None
    assert (declared.unique.mode, declared.unique.fields) == (UniqueMode.WHILE_QUEUED, ("run_id",))
    assert (declared.serial_by, declared.serial_limit) == ("run_id", 1)
    assert declared.asked_by is not None
    assert AdvancePayload(run_id=UUID(int=1)).document() == {"run_id": str(UUID(int=1))}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"workflow": "Morning brief"}, "payload.workflow"),
        ({"workflow": "a", "version": 0}, "payload.version"),
        ({"workflow": "a", "input": []}, "payload.input"),
        ({"workflow": "a", "input": {"text": "x" * LARGEST_INPUT}}, "payload.input"),
        ({"workflow": "a", "nodes": {}}, "payload.nodes"),
        ({}, "payload.workflow"),
    ],
)
def test_what_no_run_can_begin_with_is_refused_by_its_field(fields: dict[str, object], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        RunPayload.accept(fields, None)
    assert refused.value.field == field
