"""Arrays made by hand: PostgreSQL reads back what was written, whatever it is."""

import math
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from storage.postgres.arrays import Element, Packed, PackedDumper, array, column
from tests.domain.test_clean_text import Why

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
documents = st.dictionaries(texts, st.none() | st.booleans() | st.integers(-9, 9) | texts | st.lists(texts))
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "text": texts,
    "uuid": st.uuids(),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "boolean": st.booleans(),
    "timestamptz": st.datetimes(
        *(datetime(1900, 1, 1), datetime(2200, 1, 1)),  # noqa: DTZ001 - bounds, which have no zone
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=-9, minutes=-30))]),
    ),
    "jsonb": documents,
}


@pytest.fixture
def database(database: Connection) -> Connection:
    """The connection, with our arrays for parameters."""
    database.adapters.register_dumper(Packed, PackedDumper)
    return database


@pytest.mark.parametrize("nulls", [st.none(), st.nothing()], ids=["with NULL", "without"])
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_written_is_read_back(
    database: Connection, kind: str, nulls: st.SearchStrategy[None], data: st.DataObject
) -> None:
    elements: list[Element] = data.draw(st.lists(nulls | KINDS[kind], max_size=8))
    query = f"select x from unnest(%s::{kind}[]) with ordinality as u (x, n) order by n"
    rows = database.execute(query.encode(), (array(elements),))
    assert [row[0] for row in rows] == elements


def test_words_that_mean_something_in_a_literal_are_only_words(database: Connection) -> None:
    words = ["NULL", "", "{}", "a,b", 'say "x"', "back\\slash", "{NULL}", " "]
    assert database.execute("select %s::text[]", (array(words),)).fetchone() == (words,)


def test_a_type_that_nobody_has_written_down_is_refused() -> None:
    for others in ([], [None]):
        with pytest.raises(TypeError, match="float cannot be written"):
            array([math.pi, *others])  # type: ignore[list-item] # what the type checker refuses too


def test_what_is_derived_from_a_known_type_is_written_as_that(database: Connection) -> None:
    counted, why = Counter(a=2), Why.OLD
    query = "select %s::jsonb[], %s::text[], %s::text[]"
    read = database.execute(query, (array([counted, None]), array([why]), array([why, "more"]))).fetchone()
    assert read == ([{"a": 2}, None], ["too old"], ["too old", "more"])


@pytest.mark.parametrize("kind", ["uuid", "timestamptz"])
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_names_and_times_alone_are_packed_and_among_others_text(kind: str, data: st.DataObject) -> None:
    elements: list[Element] = data.draw(st.lists(KINDS[kind], min_size=1, max_size=8))
    assert isinstance(array(elements), Packed)
    assert isinstance(array([*elements, None]), str)


@pytest.mark.parametrize("others", [[], [None], [datetime(2026, 11, 23, tzinfo=UTC)]], ids=["alone", "none", "another"])
def test_a_time_of_no_zone_is_refused(others: list[Element]) -> None:
    with pytest.raises(TypeError, match=r"naive|no zone"):
        array([datetime(2026, 11, 23), *others])  # noqa: DTZ001 - what is refused


def test_a_column_of_nothing_is_filled_up_by_its_neighbour(database: Connection) -> None:
    query = "select * from unnest(%s::int[], %s::text[], %s::jsonb[])"
    given = (array([1, 2]), column([None, None]), column([None, {"a": 1}]))
    assert database.execute(query, given).fetchall() == [(1, None, None), (2, None, {"a": 1})]
