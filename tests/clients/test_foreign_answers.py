"""A success that lacks what Postroom's have is refused, be it a proxy's page or another service's answer."""

import json
from typing import Any
from uuid import UUID

import httpx
import pytest
from postroom_client import Refused, calls, records
from postroom_client.calls import Call

from tests.clients.test_description import CALLS

ENQUEUED = {"job_id": str(UUID(int=1)), "job_type": "gmail.sync", "created": True, "replayed": False}
EVENT = {"event_id": str(UUID(int=1)), "run_id": str(UUID(int=2)), "name": "paid", "payload": None, "sent_by": "ada"}
EVENT |= {"at": "2026-11-30T07:00:00Z", "taken_by_node": None}


def answered(text: str) -> httpx.Response:
    return httpx.Response(200, content=text.encode(), request=httpx.Request("GET", "http://postroom.test/"))


def refused(call: Call[Any], text: str) -> Refused:
    with pytest.raises(Refused, match="is it the gateway's address") as caught:
        call.answer(answered(text))
    return caught.value


@pytest.mark.parametrize("call", [call for _, call in CALLS], ids=lambda call: f"{call.method} {call.path}")
@pytest.mark.parametrize("text", ["", "<h1>Sign in</h1>", "null", "7", '"ok"', "[]", "{}", '{"events": 7}', "\xff"])
def test_what_is_no_answer_of_postrooms_is_refused(call: Call[Any], text: str) -> None:
    found = refused(call, text)
    assert (found.code, found.status) == ("not_postroom", 200)


@pytest.mark.parametrize("name", ENQUEUED)
@pytest.mark.parametrize("value", [None, [], {}, 7, "no id"])
def test_each_field_must_be_there_and_of_its_kind(name: str, value: object) -> None:
    call = calls.enqueue("gmail.sync", {}, "k", {})
    assert call.answer(answered(json.dumps(ENQUEUED))).job_id == UUID(int=1)
    refused(call, json.dumps({key: kept for key, kept in ENQUEUED.items() if key != name}))
    if (name, value) != ("job_type", "no id"):
        refused(call, json.dumps({**ENQUEUED, name: value}))


def test_what_is_in_a_list_is_checked_too() -> None:
    call = calls.run_events(UUID(int=2), None)
    page = call.answer(answered(json.dumps({"events": [EVENT], "next_cursor": None})))
    assert page == records.RunEventPage((records.read(records.RunEvent, EVENT),), None)
    refused(call, json.dumps({"events": [{**EVENT, "at": "yesterday"}], "next_cursor": None}))
    refused(call, json.dumps({"events": [EVENT]} | {"next_cursor": 7}))
