"""What a payload class declares, how its payloads are stored and read, and what it refuses at its definition."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject, NewJob, Origin
from domain.jobs.uniqueness import while_queued
from domain.payloads.payload import Payload, jobs_of
from domain.payloads.registry import Registry

ALONE: Registry[type[Payload]] = Registry()
"""Where the classes of this file stand, apart from the fleet's."""


def renamed(document: JsonObject) -> JsonObject:
    return {"label": document["title"]}


def shortened(document: JsonObject) -> JsonObject:
    return {"name": document["label"]}


class Named(Payload, job_type="probe.named", version=3, upcasts={1: renamed, 2: shortened}, registry=ALONE):
    """A payload whose field was renamed twice."""

    name: str


class Placed(Payload, job_type="probe.placed", unique=while_queued("place_id"), registry=ALONE):
    """A payload of each account."""

    place_id: UUID
    reason: str = "none"
    count: int = 0


@pytest.mark.parametrize(("version", "stored"), [(1, {"title": "x"}), (2, {"label": "x"}), (3, {"name": "x"})])
def test_each_older_version_is_read_by_way_of_the_next(version: int, stored: JsonObject) -> None:
    before = dict(stored)
    assert Named.read(stored, version) == Named(name="x")
    assert stored == before


@pytest.mark.parametrize(
    ("version", "stored", "field"),
    [
        (4, {"name": "x"}, "payload_version"),
        (0, {"name": "x"}, "payload_version"),
        (3, {"name": "x", "extra": 1}, "payload.extra"),
        (3, {}, "payload.name"),
        (1, {"name": "x"}, "payload"),
        (2, {"label": []}, "payload.name"),
    ],
)
def test_a_payload_that_cannot_be_read_is_refused_with_its_field(version: int, stored: JsonObject, field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        Named.read(stored, version)
    assert refusal.value.field == field


def test_a_job_is_made_of_a_payload_and_what_the_caller_adds() -> None:
    org, due = uuid4(), datetime(2026, 1, 1, tzinfo=UTC)
    origin = Origin(actor_id="test")
    made = Named(name="x").job(org_id=org, origin=origin, run_at=due, priority=3, idempotency_key="k")
    assert made == NewJob(
        job_type="probe.named",
        org_id=org,
        payload={"name": "x"},
        payload_version=3,
        origin=origin,
        idempotency_key="k",
        run_at=due,
        priority=3,
        is_checked=True,
    )


def test_several_payloads_make_a_job_each_with_the_same_options() -> None:
    org, due = uuid4(), datetime(2026, 1, 1, tzinfo=UTC)
    payloads = [Named(name="x"), Placed(place_id=org)]
    assert jobs_of(payloads, org_id=org, run_at=due) == [one.job(org_id=org, run_at=due) for one in payloads]


def test_an_idempotency_key_names_one_job() -> None:
    org = uuid4()
    assert jobs_of([Named(name="x")], org_id=org, idempotency_key="k")[0].idempotency_key == "k"
    with pytest.raises(ValueError, match="idempotency_key"):
        jobs_of([Named(name="x"), Named(name="y")], org_id=org, idempotency_key="k")


def test_a_template_is_the_stored_payload_without_its_varying_field() -> None:
    template = Placed.template("place_id", {"reason": "all"})
    assert template == {"reason": "all", "count": 0}
    place = uuid4()
    assert Placed.read(template | {"place_id": str(place)}, 1) == Placed(place_id=place, reason="all")


@pytest.mark.parametrize(
    ("varying", "fixed", "words"),
    [
        ("account_id", {}, "Placed: account_id must be a field"),
        ("place_id", {"place_id": uuid4()}, "Placed: place_id must be a field that is not among the fixed ones"),
        ("place_id", {"count": "many"}, "Placed: count"),
        ("place_id", {"colour": "red"}, "Placed: colour"),
        ("count", {}, "Placed: place_id"),
    ],
)
def test_a_template_is_checked_against_its_class(varying: str, fixed: Mapping[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Placed.template(varying, fixed)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"job_type": "sync"}, "'sync' is no name of a job type"),
        ({"job_type": "Probe.sync"}, "'Probe.sync' is no name of a job type"),
        ({"job_type": "probe.named"}, "the name probe.named belongs to the job type probe.named already"),
        ({"aliases": ("probe.placed",)}, "the name probe.placed belongs to the job type probe.placed already"),
        ({"aliases": ("again", "again")}, "the name again is given twice"),
        ({"aliases": ("no name",)}, "'no name' is refused by the job contract"),
        ({"unique": while_queued("place")}, "unique names place, which is no field of the payload"),
        ({"serial_by": "place"}, "serial_by names place, which is no field of the payload"),
        ({"serial_limit": 2}, "a serial_limit needs serial_by"),
        ({"serial_by": "word", "serial_limit": 0}, "a serial_limit needs serial_by and is at least 1"),
        ({"version": 0}, "versions are counted from 1"),
        ({"version": 3, "upcasts": {1: renamed}}, "no upcast from version 2"),
        ({"version": 2, "upcasts": {1: renamed, 2: renamed}}, "an upcast from version 2 leads nowhere"),
    ],
)
def test_a_class_whose_facts_do_not_fit_is_refused_and_not_registered(facts: dict[str, Any], words: str) -> None:
    before = list(ALONE)
    with pytest.raises(ValueError, match=words):
        define(**({"job_type": "probe.other"} | facts))
    assert list(ALONE) == before


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"job_type": None}, "Other: job_type must be a str, not None"),
        ({"aliases": ("ab")}, "probe.other: aliases must be a tuple of str, not 'ab'"),
        ({"aliases": (1,)}, "probe.other: aliases must be a tuple of str"),
        ({"version": "2"}, "probe.other: version must be an int, not '2'"),
        ({"version": True}, "probe.other: version must be an int, not True"),
        ({"version": 2, "upcasts": {1: "renamed"}}, "probe.other: upcasts must be a mapping of versions to functions"),
        ({"version": 2, "upcasts": {"1": renamed}}, "probe.other: upcasts must be a mapping of versions to functions"),
        ({"version": 2, "upcasts": [renamed]}, "probe.other: upcasts must be a mapping of versions to functions"),
        (
            {"unique": while_queued},
            "probe.other: unique must be made by while_queued(), while_active() or for_ttl(), not <function",
        ),
        ({"serial_by": 1}, "probe.other: serial_by must be the name of a field, not 1"),
        ({"serial_by": "word", "serial_limit": 1.5}, "probe.other: serial_limit must be an int, not 1.5"),
        ({"uniqe": while_queued()}, "Other: uniqe is no keyword of a payload class; known: job_type, aliases, version"),
    ],
)
def test_a_fact_of_a_wrong_type_is_refused_by_job_type_and_keyword(facts: dict[str, Any], words: str) -> None:
    before = list(ALONE)
    with pytest.raises(TypeError, match=re.escape(words)):
        define(**({"job_type": "probe.other"} | facts))
    assert list(ALONE) == before


def define(**facts: Any) -> type[Payload]:  # noqa: ANN401 - facts that a type checker would refuse
    class Other(Payload, registry=ALONE, **facts):
        """A payload of one word."""

        word: str

    return Other


def test_a_fact_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="quue"):
        define(job_type="probe.other", quue="default")


def test_facts_without_a_job_type_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Other .*job_type"):
        define(aliases=("other",))


def test_a_class_that_inherits_from_a_job_types_payload_names_its_own() -> None:
    with pytest.raises(ValueError, match=r"Heir .*job_type"):

        class Heir(Named):
            """A payload that would take its parent's job type."""


@pytest.mark.filterwarnings("ignore:Field name:UserWarning")
def test_a_field_may_not_hide_what_every_payload_has() -> None:
    with pytest.raises(ValueError, match="job"):

        class Hiding(Payload, job_type="probe.hiding", registry=ALONE):
            """A payload whose field would replace a method."""

            job: int  # type: ignore[assignment]  # that is the mistake


PLACE = UUID("00000000-0000-4000-8000-00000000abcd")


@pytest.mark.parametrize("spelling", [str(PLACE), str(PLACE).upper(), PLACE.hex, PLACE.urn, f"{{{PLACE}}}"])
def test_a_payload_that_came_by_a_door_is_written_as_its_class_writes_it(spelling: str) -> None:
    taken = Placed.accept({"place_id": spelling}, None)
    assert taken == ({"place_id": str(PLACE), "reason": "none", "count": 0}, 1, True)


def test_another_version_stays_as_its_caller_said_it() -> None:
    for version, document in ((1, {"title": "x"}), (2, {"label": "x"}), (4, {"whatever": "x"})):
        assert Named.accept(document, version) == (document, version, False)
    assert Named.accept({"title": "x"}, None) == ({"title": "x"}, 1, False), "without a version, of the oldest"
    with pytest.raises(Invalid, match=r"payload: "):
        Named.accept({"name": "x"}, 1)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"place_id": "x"}, "payload.place_id: Input should be a valid UUID"),
        ({"place_id": str(PLACE), "count": "1"}, "payload.count: Input should be a valid integer"),
        ({"place_id": str(PLACE), "reason": "\ud800"}, "text: carries a character that PostgreSQL cannot store"),
    ],
)
def test_a_door_takes_a_value_of_its_own_kind_only(document: JsonObject, said: str) -> None:
    with pytest.raises(Invalid, match=re.escape(said)):
        Placed.accept(document, None)
