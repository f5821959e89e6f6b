"""The registry of payload classes: every class can be stored and read, and no two names clash."""

import base64
import copy
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from domain.jobs.failures import Invalid
from domain.jobs.uniqueness import UniqueMode
from domain.payloads import payload_types
from domain.payloads.agents import InvokeConfig
from domain.payloads.declaration import ORG
from domain.payloads.outbound import AttachmentField
from domain.payloads.payload import Payload
from domain.payloads.registry import Registry

FLEET = [payload for payload in payload_types if payload.__module__.startswith("domain.payloads.")]
few = settings(max_examples=30, deadline=None)
"""Of each class: what they have in common is tried by all together a thousand times."""
by_class = pytest.mark.parametrize("payload", FLEET, ids=lambda payload: payload.declaration.job_type)

NAMES = st.sampled_from([f"{family}.{name}" for family in "abc" for name in "xyz"])
TYPES = st.lists(st.tuples(NAMES, st.lists(NAMES, max_size=3)), max_size=8)
"""Job types as they might be named: a name and aliases each, with clashes."""

DOCUMENTS = st.dictionaries(
    st.sampled_from(["account_id", "message_id", "thread_id", "job_id", "day", "reason", "other"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.uuids().map(str),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=6,
    ),
)
"""Stored payloads as a careless service might hand them over."""


def field_values(field: FieldInfo) -> st.SearchStrategy[Any]:
    pattern = next((one.pattern for one in field.metadata if getattr(one, "pattern", None)), None)
    if pattern is not None:
        return st.from_regex(pattern, fullmatch=True)
    kind = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    return st.from_type(kind)  # type: ignore[arg-type]  # hypothesis takes annotations that are no classes


MAILBOXES = st.sampled_from(["ada@example.org", "Ada Lovelace <ada@example.org>", '"Löve, Ada" <ada@example.org>'])
FILES = st.builds(
    AttachmentField,
    filename=st.sampled_from(["plan.pdf", "Übersicht.pdf"]),
    content_type=st.just("application/pdf"),
    data=st.binary(max_size=20).map(lambda data: base64.b64encode(data).decode()),
)
INSTANTS = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 31), timezones=st.timezones())  # noqa: DTZ001  # the zone is drawn
NARROW = st.none() | st.integers(10, 1_000)
GMAIL_IDS = st.from_regex(r"[A-Za-z0-9_-]{1,100}", fullmatch=True)
ZONES = st.sampled_from([None, "UTC", "Europe/Berlin"])
OWN_VALUES: Mapping[str, Mapping[str, st.SearchStrategy[Any]]] = {
    "agents.invoke": {"config": st.builds(InvokeConfig, seconds=NARROW, turns=NARROW, microcents=NARROW)},
    "gmail.backfill": {"since": st.none() | INSTANTS, "until": st.none() | INSTANTS},
    "deadletter.send_alert": {"since": INSTANTS},
    "planning.scan_conflicts": {
        "since": st.datetimes(datetime(1601, 1, 1), datetime(2026, 4, 30), timezones=st.timezones()),  # noqa: DTZ001  # the zone is drawn
        "until": st.datetimes(datetime(2026, 5, 3), datetime(2399, 1, 1), timezones=st.timezones()),  # noqa: DTZ001  # the zone is drawn
    },
    "planning.suggest_assignments": {"weights": st.sampled_from([None, {}, {"stability": 100, "travel": 0}])},
    "exports.project_plan": {"zone": ZONES},
    "imports.availability": {"zone": ZONES, "source": st.sampled_from([None, "holidays.ics"])},
    "gmail.ingest": {"thread_id": st.none() | GMAIL_IDS},
    "gmail.backfill_messages": {"message_ids": st.lists(GMAIL_IDS, min_size=1, max_size=20)},
    "threads.cleanup": {"draft_thread_id": st.none() | GMAIL_IDS},
    "gmail.sync": {"history_id": st.none() | st.integers(1, 2**64 - 1)},
    "workflows.run": {
        "version": st.none() | st.integers(1, 2**31 - 1),
        "input": st.sampled_from([{}, {"account_id": "a", "readers": ["b", 1, None]}]),
    },
    "accounts.onboard": {
        "reopened_at": st.none() | INSTANTS,
        "result_summary": st.sampled_from([None, {}, {"emails": 3, "seen": ["a", None]}]),
    },
    "maintenance.run_end_hook": {"hook": st.none() | st.text(max_size=63)},
    "reminders.deliver": {"occurrence": st.none() | st.integers(1, 2**31 - 1)},
    "outbound.send": {
        "message_type": st.sampled_from(["reply", "forward"]),
        **{name: st.lists(MAILBOXES, min_size=1, max_size=3).map(tuple) for name in ("to", "cc", "bcc")},
        "subject": st.sampled_from(["", "Re: Großer Auftrag"]),
        "body_plain": st.text(st.characters(codec="utf-8"), max_size=20).map(lambda text: f"Yes {text}"),
        "original_message_id": st.just("18c2f0a1b2c3d4e6"),
        "thread_id": st.sampled_from([None, "18c2f0a1b2c3d4e5"]),
        "references": st.sampled_from([(), ("<question@example.org>",)]),
        "attachments": st.lists(FILES, max_size=2).map(tuple),
    },
}
"""By job type: values of fields whose checks are more than a type can say."""


def payloads(payload: type[Payload]) -> st.SearchStrategy[Payload]:
    """Any payload of a class."""
    own = OWN_VALUES.get(payload.declaration.job_type, {})
    given = {name: field_values(field) for name, field in payload.model_fields.items() if name not in own}
    return st.builds(payload, **given, **own)


def test_the_walk_finds_the_families() -> None:
    assert {payload.__module__.rpartition(".")[2] for payload in FLEET} >= {"gmail", "triage", "drafts", "maintenance"}


@by_class
def test_it_stands_in_the_file_of_its_family_and_says_what_it_names(payload: type[Payload]) -> None:
    assert payload.declaration.job_type.partition(".")[0] == payload.__module__.rpartition(".")[2]
    assert payload.__doc__


@by_class
def test_it_is_found_under_its_name_and_its_aliases(payload: type[Payload]) -> None:
    for name in (payload.declaration.job_type, *payload.declaration.aliases):
        assert payload_types.find(name) is payload


@by_class
@few
@given(data=st.data())
def test_any_payload_is_read_as_it_was_stored(payload: type[Payload], data: st.DataObject) -> None:
    given_payload = data.draw(payloads(payload))
    stored = given_payload.document()
    assert payload.read(stored, payload.declaration.version) == given_payload
    assert payload.read(stored, payload.declaration.version).document() == stored


@by_class
@few
@given(data=st.data())
def test_its_key_is_made_of_plain_values(payload: type[Payload], data: st.DataObject) -> None:
    """A key of unique jobs or of jobs in a row is compared as text: an object or a list has no fixed spelling."""
    declared = payload.declaration
    named = list((declared.unique.fields or ()) if declared.unique else ())
    if declared.serial_by is not None and declared.serial_by != ORG:
        named.append(declared.serial_by)
    stored = data.draw(payloads(payload)).document()
    assert all(isinstance(stored[name], str | int | None) for name in named)


@by_class
@few
@given(stored=DOCUMENTS, version=st.integers(-1, 3))
def test_any_document_of_any_version_is_read_or_refused(
    payload: type[Payload], stored: dict[str, Any], version: int
) -> None:
    before = copy.deepcopy(stored)
    with suppress(Invalid):
        found = payload.read(stored, version)
        assert payload.read(found.document(), payload.declaration.version) == found
    assert stored == before


@by_class
def test_every_older_version_leads_to_the_newest(payload: type[Payload]) -> None:
    declared = payload.declaration
    assert set(declared.upcasts) == set(range(1, declared.version))


def test_no_two_names_of_the_fleet_are_the_same() -> None:
    counted = Counter(name for one in FLEET for name in (one.declaration.job_type, *one.declaration.aliases))
    assert [name for name, times in counted.items() if times > 1] == []


def test_keys_that_outlive_their_job_name_their_fields() -> None:
    """Once per window means once per named thing: a whole payload as the key would change with each new field."""
    for payload in FLEET:
        unique = payload.declaration.unique
        assert unique is None or unique.mode is not UniqueMode.FOR_TTL or unique.fields


@given(TYPES)
def test_every_name_leads_to_one_value_and_a_clash_changes_nothing(types: list[tuple[str, list[str]]]) -> None:
    registry: Registry[int] = Registry()
    owners: dict[str, int] = {}
    for number, (name, aliases) in enumerate(types):
        names = [name, *aliases]
        if len(set(names)) == len(names) and not set(names) & set(owners):
            registry.add(name, aliases, number)
            owners |= dict.fromkeys(names, number)
        else:
            with pytest.raises(ValueError, match=f"^{name}: the name"):
                registry.add(name, aliases, number)
    assert {name: registry.find(name) for name in owners} == owners
    assert registry.find("nobody.knows") is None
    assert sorted(registry) == sorted(set(owners.values()))
    assert len(registry) == len(set(owners.values()))
