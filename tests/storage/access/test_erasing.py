"""PostgreSQL takes a person out of texts, lists and documents as the domain does."""

import json

import pytest
from psycopg import Connection

from domain.privacy.erasure import search_for
from tests.domain.privacy.test_erasure import CASES, EVERY_WAY, MARKS

SEARCH = search_for(MARKS)
VALUES = {"patterns": list(SEARCH.patterns), "instead": list(SEARCH.instead)}


def test_the_database_takes_out_what_the_domain_does(database: Connection) -> None:
    query = "select postroom.without_marks(%(text)s, %(patterns)s, %(instead)s), %(text)s ~* %(loose)s"
    for text, left in CASES:
        found = database.execute(query, VALUES | {"text": text, "loose": SEARCH.loose}).fetchone()
        assert found is not None
        assert found[0] == (text if left is None else left)
        assert left is None or found[1]


def test_the_database_knows_every_way_to_write_them(database: Connection) -> None:
    query = "select postroom.without_marks(%(text)s, %(patterns)s, %(instead)s), %(text)s ~* %(loose)s"
    for mark, way, write in EVERY_WAY:
        search, text = search_for([mark]), f"at {write(mark.text)} of"
        values = {"patterns": list(search.patterns), "instead": list(search.instead), "loose": search.loose}
        assert database.execute(query, values | {"text": text}).fetchone() == (search.without(text), True), (mark, way)


@pytest.mark.parametrize(
    ("document", "left"),
    [
        ({"ann@example.org": ["Jo", 1, None]}, {"x@x.invalid": ["er", 1, None]}),
        ({"a": {"b": "\nJo\t"}, "c": True}, {"a": {"b": "\ner\t"}, "c": True}),
        ([], []),
        ({}, {}),
        ({"nora": '\\ " / \x7f é \n\n', "a": {}, "b": [1.50, 1e-7, [], False]}, None),
    ],
)
def test_a_document_loses_them_in_names_and_texts(database: Connection, document: object, left: object | None) -> None:
    """All else is the same to the letter, and the names keep their order."""
    query = "select postroom.document_without_marks(%(document)s, %(patterns)s, %(instead)s)"
    text = json.dumps(document, ensure_ascii=False)
    expected = text if left is None else json.dumps(left, ensure_ascii=False)
    assert database.execute(query, VALUES | {"document": text}).fetchone() == (expected,)
