"""Callers may give a field by other names; a payload is stored under the fields' own."""

from typing import Annotated
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.payloads.other_names import EMAIL_THREAD, AccountId, LookUp, OtherName, Renamed, rename
from domain.payloads.payload import Payload
from domain.payloads.registry import Registry
from domain.payloads.shape import shape_of

ALONE: Registry[type[Payload]] = Registry()
ACCOUNT = UUID("00000000-0000-4000-8000-00000000000a")


class Moved(Payload, job_type="probe.moved", registry=ALONE):
    """A payload of a mailbox and a thread."""

    account_id: AccountId
    thread_id: Annotated[str, EMAIL_THREAD, OtherName("conversation")]
    count: int = 0


def test_another_name_of_the_value_is_the_fields_own_afterwards() -> None:
    accepted = Moved.accept({"connection_id": str(ACCOUNT).upper(), "conversation": "t"}, 1)
    assert accepted.payload == {"account_id": str(ACCOUNT), "thread_id": "t", "count": 0}
    assert accepted.is_checked
    assert Moved.read({"connection_id": str(ACCOUNT), "thread_id": "t"}, 1).account_id == ACCOUNT


def test_what_must_be_looked_up_is_checked_and_left_to_the_database() -> None:
    user, email = str(uuid4()), str(uuid4())
    document = {"user_id": user, "email_id": email, "count": 2}
    accepted = Moved.accept(document, 1)
    assert (accepted.payload, accepted.is_checked) == (document, False)
    with pytest.raises(Invalid, match=r"payload\.count: "):
        Moved.accept(document | {"count": "x"}, 1)
    with pytest.raises(Invalid, match=r"payload\.user_id: "):
        Moved.read(document, 1)


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"account_id": str(ACCOUNT), "connection_id": str(uuid4()), "thread_id": "t"}, "payload.connection_id"),
        ({"user_id": "nobody", "thread_id": "t"}, "payload.user_id"),
        ({"user_id": 7, "thread_id": "t"}, "payload.user_id"),
        ({"user_id": str(ACCOUNT)}, "payload.thread_id"),
        ({"user_id": None, "thread_id": "t"}, "payload.account_id"),
        ({"connection_id": "no id", "thread_id": "t"}, "payload.account_id"),
        ({"account_id": str(ACCOUNT), "thread_id": "t", "mailbox_id": "m"}, "payload.mailbox_id"),
    ],
)
def test_a_refusal_names_the_field(document: JsonObject, field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        Moved.accept(document, 1)
    assert refusal.value.field == field


def test_a_name_that_says_the_same_or_nothing_is_no_contradiction() -> None:
    document = {"account_id": str(ACCOUNT), "connection_id": ACCOUNT.hex, "email_id": None, "thread_id": "t"}
    assert Moved.accept(document, 1).payload == {"account_id": str(ACCOUNT), "thread_id": "t", "count": 0}


names = st.sampled_from(["account_id", "connection_id", "user_id", "email_id", "conversation", "thread_id", "other"])
values = st.one_of(st.none(), st.integers(), st.text(max_size=3), st.just(str(ACCOUNT)), st.just(ACCOUNT.hex))


@given(st.dictionaries(names, values))
def test_renaming_loses_nothing_and_is_done_once(document: JsonObject) -> None:
    before = dict(document)
    try:
        renamed = rename(Moved.other_names, document)
    except Invalid:
        return
    assert document == before
    assert "connection_id" not in renamed.payload
    assert "conversation" not in renamed.payload
    for field in ("account_id", "thread_id", "other"):
        if document.get(field) is not None:
            assert field in renamed.payload
    assert rename(Moved.other_names, renamed.payload) == Renamed(renamed.payload)
    looked_up = {name for name in ("user_id", "email_id") if document.get(name) is not None}
    assert {one.other.name for one in renamed.unresolved} == looked_up


def test_the_shape_says_what_to_give_in_the_place_of_another_name() -> None:
    shape = shape_of(Moved.model_json_schema())
    assert shape == {
        "closed": True,
        "fields": {
            "account_id": {"types": ["string"], "spelling": "uuid", "required": True},
            "thread_id": {"types": ["string"], "required": True},
            "count": {"types": ["number"], "default": 0},
        },
        "others": {
            "connection_id": "account_id",
            "user_id": "account_id",
            "email_id": "thread_id",
            "conversation": "thread_id",
        },
    }


def test_a_class_is_refused_whose_names_contradict() -> None:
    with pytest.raises(ValueError, match=r"account_id: .*thread_id"):

        class Twice(Payload, job_type="probe.twice", registry=ALONE):
            """A name that is a field."""

            account_id: Annotated[UUID, OtherName("thread_id")]
            thread_id: str

    with pytest.raises(ValueError, match="thread_id: "):

        class Hidden(Payload, job_type="probe.hidden", registry=ALONE):
            """A name that nobody would look at."""

            thread_id: Annotated[str, OtherName("conversation", LookUp.MESSAGE_OF_THREAD)] | None = None
