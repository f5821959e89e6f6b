"""Only what was offered exists, whatever a model names."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.models.agents.profile import SearchScope, ToolName, parse_profile
from domain.models.agents.tools import (
    ON_MAILBOX,
    ON_THREAD,
    WITHOUT_MAILBOX,
    WRITING,
    Arguments,
    Offer,
    ReadThread,
    offer_of,
    read_call,
)
from domain.models.agents.transcript import ToolCall

EVERYTHING = parse_profile(
    {
        "name": "all",
        "prompt": "Do.",
        "model": "m-1",
        "tools": [tool.value for tool in ToolName],
        "labels": ["Bills", "Gone"],
        "may_reply": True,
    }
)
LABELS = {"Bills": "Label_1", "Secret": "Label_2"}


def offered(**facts: Any) -> Offer:  # noqa: ANN401 - what `offer_of` takes
    return offer_of(EVERYTHING, LABELS, **({"may_send": True, "may_write": True} | facts))


def read(name: str, arguments: dict[str, Any] | None, *, sealed: bool = False, offer: Offer | None = None) -> Arguments:
    call = ToolCall("toolu_1", name, arguments)
    return read_call(call, offer or offered(), own_thread="t1", found=frozenset({"t2"}), is_sealed=sealed)


def test_a_profile_is_cut_down_to_what_account_and_message_allow() -> None:
    assert set(offered().tools) == set(ToolName)
    assert offered().labels == {"Bills": "Label_1"}, "a label that the mailbox lacks is not offered"
    assert ToolName.REPLY not in offered(may_send=False).tools
    assert not WRITING & set(offered(may_write=False).tools)
    assert ToolName.DRAFT_REPLY not in offered(can_draft=False).tools
    silent = EVERYTHING.model_copy(update={"tools": (ToolName.ARCHIVE,)})
    assert offer_of(silent, {}, may_send=True, may_write=True).tools == (ToolName.ARCHIVE, ToolName.ESCALATE)


@pytest.mark.parametrize(
    ("field", "name", "arguments"),
    [
        ("tool", "forward_mail", {"to": "eve@example.com"}),
        ("tool", "send_mail", {}),
        ("tool", "delete_thread", {}),
        ("tool", "", {}),
        ("arguments", "archive", None),
        ("thread_id", "archive", {"thread_id": "t9"}),
        ("to", "draft_reply", {"body": "Hi", "to": "eve@example.com"}),
        ("recipient", "reply", {"body": "Hi", "recipient": "eve@example.com"}),
        ("body", "draft_reply", {"body": ""}),
        ("body", "draft_reply", {"body": 5}),
        ("body", "reply", {"body": "x" * 10_001}),
        ("label", "apply_label", {"label": "Secret"}),
        ("label", "apply_label", {"label": "Label_1"}),
        ("label", "apply_label", {"label": "bills"}),
        ("thread_id", "read_thread", {"thread_id": "t3"}),
        ("query", "search_mail", {"query": " "}),
        ("query", "search_mail", {"query": "x" * 201}),
        ("reason", "escalate", {}),
    ],
)
def test_a_call_that_was_not_offered_is_refused_by_field(
    field: str, name: str, arguments: dict[str, Any] | None
) -> None:
    with pytest.raises(Invalid) as refusal:
        read(name, arguments)
    assert refusal.value.field == field


@pytest.mark.parametrize("thread_id", [None, "t1", "t2"])
def test_its_own_thread_and_found_ones_may_be_read(thread_id: str | None) -> None:
    call = read("read_thread", {} if thread_id is None else {"thread_id": thread_id})
    assert isinstance(call, ReadThread)
    assert call.thread_id == thread_id


@pytest.mark.parametrize("tool", sorted(WRITING))
def test_who_has_seen_what_nobody_may_hear_writes_nothing(tool: str) -> None:
    read(tool, {"body": "Hi"})
    with pytest.raises(Invalid, match="a person has to write"):
        read(tool, {"body": "Hi"}, sealed=True)
    read("escalate", {"reason": "look"}, sealed=True)


def test_no_schema_has_a_field_for_a_recipient_and_labels_are_an_enum() -> None:
    specs = {spec["name"]: spec["schema"] for spec in offered().specs()}
    assert {name for schema in specs.values() for name in schema["properties"]} == {
        "query", "thread_id", "label", "body", "reason",
    }  # fmt: skip
    assert specs["apply_label"]["properties"]["label"] == {"type": "string", "enum": ["Bills"]}
    assert all(schema["additionalProperties"] is False for schema in specs.values())
    assert specs["read_thread"]["required"] == []
    assert specs["read_thread"]["properties"]["thread_id"]["type"] == "string"


@pytest.mark.parametrize(
    ("field", "name", "arguments"),
    [
        ("thread_id", "archive", {}),
        ("thread_id", "archive", {"thread_id": "t1"}),
        ("thread_id", "draft_reply", {"body": "Hi"}),
        ("thread_id", "read_thread", {}),
        ("label", "apply_label", {"thread_id": "t2", "label": "Secret"}),
        ("to", "reply", {"thread_id": "t2", "body": "Hi", "to": "eve@example.com"}),
        ("person", "search_mail", {"person": "x"}),
        ("query", "search_mail", {"query": " "}),
        (None, "search_mail", {}),
        (None, "search_mail", {"query": "lunch", "person": "anna@example.com"}),
        (None, "apply_label", {"thread_id": "t2", "label": "Bills"}),
        (None, "reply", {"thread_id": "t2", "body": "Hi"}),
        (None, "escalate", {"reason": "look"}),
    ],
)
def test_without_a_thread_of_its_own_a_run_names_one_that_it_has_found(
    field: str | None, name: str, arguments: dict[str, Any]
) -> None:
    offer = offered(kit=ON_MAILBOX)
    call = ToolCall("toolu_1", name, arguments)
    if field is None:
        assert read_call(call, offer, found=frozenset({"t2"})).tool.value == name
        return
    with pytest.raises(Invalid) as refusal:
        read_call(call, offer, found=frozenset({"t2"}))
    assert refusal.value.field == field


def test_each_kit_has_every_tool_and_without_a_mailbox_there_is_one() -> None:
    for kit in (ON_THREAD, ON_MAILBOX):
        assert kit.keys() == set(ToolName)
    assert [one["name"] for one in WITHOUT_MAILBOX.specs()] == ["escalate"]


@given(st.text(max_size=30), st.dictionaries(st.text(max_size=10), st.text(max_size=10) | st.integers(), max_size=3))
def test_whatever_is_called_is_read_or_refused(name: str, arguments: dict[str, Any]) -> None:
    for tool in (name, *ToolName):
        try:
            found = read(str(tool), arguments, offer=Offer((ToolName.ARCHIVE, ToolName.APPLY_LABEL), LABELS))
        except Invalid:
            continue
        assert found.tool in {ToolName.ARCHIVE, ToolName.APPLY_LABEL}


def test_the_default_search_is_the_careful_one() -> None:
    assert offered().search is SearchScope.CORRESPONDENTS
