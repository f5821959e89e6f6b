"""Array literals made by hand: PostgreSQL reads back what was written, whatever it is."""

import math
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from storage.arrays import Element, array, column

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
documents = st.dictionaries(texts, st.none() | st.booleans() | st.integers(-9, 9) | texts | st.lists(texts))
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "text": texts,
    "uuid": st.uuids(),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "boolean": st.booleans(),
    "timestamptz": st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - bounds
    "jsonb": documents,
}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_written_is_read_back(database: Connection, kind: str, data: st.DataObject) -> None:
    elements: list[Element] = data.draw(st.lists(st.none() | KINDS[kind], max_size=8))
    query = f"select x from unnest(%s::{kind}[]) with ordinality as u (x, n) order by n"
    rows = database.execute(query.encode(), (array(elements),))
    assert [row[0] for row in rows] == elements


def test_words_that_mean_something_in_a_literal_are_only_words(database: Connection) -> None:
    words = ["NULL", "", "{}", "a,b", 'say "x"', "back\\slash", "{NULL}", " "]
    assert database.execute("select %s::text[]", (array(words),)).fetchone() == (words,)


def test_a_type_that_nobody_has_written_down_is_refused() -> None:
    with pytest.raises(KeyError, match="float"):
        array([math.pi])  # type: ignore[list-item] # what the type checker refuses too
    assert array([UUID(int=1)]) == "{00000000000000000000000000000001}"


def test_a_column_of_nothing_is_filled_up_by_its_neighbour(database: Connection) -> None:
    query = "select * from unnest(%s::int[], %s::text[], %s::jsonb[])"
    given = (array([1, 2]), column([None, None]), column([None, {"a": 1}]))
    assert database.execute(query, given).fetchall() == [(1, None, None), (2, None, {"a": 1})]
