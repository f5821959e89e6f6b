"""Other names of a payload's fields: services that speak a source document's words are understood (docs: seeds.md).

A payload is stored under the fields' own names, so that unique keys and concurrency keys are the same whatever name a
caller used. A name may stand for the value itself, or for a row by which the database finds the value.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, get_args
from uuid import UUID

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject

IN_SCHEMA = "x-other-names"
"""The key under which a field's JSON Schema lists its other names; a payload's shape takes them from there."""


class LookUp(StrEnum):
    """How a field's value is found by a row's id, among the org's rows (storage/jobs/payload_names.py)."""

    ACCOUNT_OF_USER = "account_of_user"
    """The one connected mailbox of a user; a user with none or several is refused."""
    MAILBOX_OF_USER = "mailbox_of_user"
    """The same where a job can do without: none for a user who has none."""
    THREAD_OF_EMAIL = "thread_of_email"
    MESSAGE_OF_EMAIL = "message_of_email"
    THREAD_OF_MESSAGE = "thread_of_message"
    """Of one that is stored, or of our draft."""
    MESSAGE_OF_THREAD = "message_of_thread"
    """The newest message that came in; a message that is named beside its thread must be in it."""

    @property
    def takes_uuid(self) -> bool:
        """Whether it is given the id of a row of ours, and not one of Gmail's."""
        return self not in {LookUp.THREAD_OF_MESSAGE, LookUp.MESSAGE_OF_THREAD}


@dataclass(frozen=True, slots=True)
class OtherName:
    """Another name of a field, in its annotation. With a look-up its value names a row, else it is the field's own."""

    name: str
    look_up: LookUp | None = None

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The field's JSON Schema with this name added."""
        schema = handler(core_schema)
        schema.setdefault(IN_SCHEMA, []).append(self.name)
        return schema


OtherNames = Mapping[str, tuple[OtherName, ...]]
"""By field, in the order in which they are looked at."""

AccountId = Annotated[UUID, OtherName("connection_id"), OtherName("user_id", LookUp.ACCOUNT_OF_USER)]
"""A mailbox. One source document says connection, another knows one mailbox per user and names the user."""

EMAIL_THREAD = OtherName("email_id", LookUp.THREAD_OF_EMAIL)
EMAIL_MESSAGE = OtherName("email_id", LookUp.MESSAGE_OF_EMAIL)
"""The record of a thread that wants an answer: it knows the thread, and the message that asked."""


def other_names_of(fields: Mapping[str, FieldInfo]) -> OtherNames:
    """The other names of a class's fields; raises `ValueError` for a field's own name and an unread annotation."""
    found: dict[str, tuple[OtherName, ...]] = {}
    for field, info in fields.items():
        if any(_hidden(argument) for argument in get_args(info.annotation)):
            raise ValueError(f"{field}: annotate the whole type with OtherName, not a part of it")
        names = tuple(one for one in info.metadata if isinstance(one, OtherName))
        if names:
            found[field] = names
    for field, names in found.items():
        for one in names:
            if one.name in fields:
                raise ValueError(f"{field}: its other name {one.name} is a field, too")
    return found


def _hidden(annotation: object) -> bool:
    return any(isinstance(one, OtherName) or _hidden(one) for one in get_args(annotation))


class UnresolvedName(NamedTuple):
    """A name whose value is to be looked up."""

    field: str
    other: OtherName
    given: str


class GivenWords(NamedTuple):
    """Words in the place of the field's id, checked; a row is to take them in."""

    field: str
    said: BaseModel


class Renamed(NamedTuple):
    """A payload under its fields' own names, the names that are to be looked up, and words that a row is to take in."""

    payload: JsonObject
    unresolved: tuple[UnresolvedName, ...] = ()
    words: GivenWords | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the payload can be stored as it is."""
        return not self.unresolved and self.words is None

    @property
    def stand_in(self) -> JsonObject:
        """The payload with an id in the place of each value that is to be looked up or made: it is checked instead."""
        made = {} if self.words is None else {self.words.field: str(UUID(int=0))}
        return {one.field: one.given for one in self.unresolved} | made | self.payload


def rename(others: OtherNames, document: JsonObject) -> Renamed:
    """Put a document's values under the fields' own names; raises `Invalid` for two names that say different things.

    A name that is there with null counts as left out.
    """
    given = [(field, one) for field, one in _pairs(others) if one.name in document]
    if not given:
        return Renamed(document)
    renamed = {name: value for name, value in document.items() if name not in {one.name for _, one in given}}
    unresolved: list[UnresolvedName] = []
    for field, one in given:
        value = document[one.name]
        if value is None:
            continue
        if one.look_up is None:
            _put(renamed, field, one, value)
        else:
            unresolved.append(UnresolvedName(field, one, _checked_key(one, value)))
    return Renamed(renamed, tuple(unresolved))


def _put(renamed: JsonObject, field: str, other: OtherName, value: object) -> None:
    if renamed.get(field) is not None and not _same(renamed[field], value):
        raise Invalid(f"payload.{other.name}", f"is another name of {field}, which says something else")
    renamed[field] = value


def _checked_key(other: OtherName, value: object) -> str:
    """What a row is found by is text, and a UUID unless it is Gmail's."""
    if other.look_up is not None and other.look_up.takes_uuid and read_uuid(value) is None:
        raise Invalid(f"payload.{other.name}", "Input should be a valid UUID")
    if not isinstance(value, str):
        raise Invalid(f"payload.{other.name}", "Input should be a valid string")
    return value


def _pairs(others: OtherNames) -> Iterator[tuple[str, OtherName]]:
    return ((field, one) for field, names in others.items() for one in names)


def _same(one: object, other: object) -> bool:
    """Whether two values are the same; a UUID has several spellings."""
    spelt = read_uuid(one)
    return one == other if spelt is None else spelt == read_uuid(other)


def read_uuid(value: object) -> UUID | None:
    """The UUID in a text of any of its spellings; None for anything else."""
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None
