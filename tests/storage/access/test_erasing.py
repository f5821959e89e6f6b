"""PostgreSQL takes a person out of texts, lists and documents as the domain does."""

import pytest
from psycopg import Connection
from psycopg.types.json import Jsonb

from domain.privacy.erasure import search_for
from tests.domain.privacy.test_erasure import CASES, MARKS

SEARCH = search_for(MARKS)
VALUES = {"patterns": list(SEARCH.patterns), "instead": list(SEARCH.instead)}


def test_the_database_takes_out_what_the_domain_does(database: Connection) -> None:
    query = "select postroom.without_marks(%(text)s, %(patterns)s, %(instead)s), %(text)s ~* %(loose)s"
    for text, left in CASES:
        found = database.execute(query, VALUES | {"text": text, "loose": SEARCH.loose}).fetchone()
        assert found is not None
        assert found[0] == (text if left is None else left)
        assert left is None or found[1]


@pytest.mark.parametrize(
    ("document", "left"),
    [
        ({"ann@example.org": ["Jo", 1, None]}, {"x@x.invalid": ["er", 1, None]}),
        ({"a": {"b": "\nJo\t"}, "c": True}, {"a": {"b": "\ner\t"}, "c": True}),
        ([], []),
        ({}, {}),
    ],
)
def test_a_document_loses_them_in_names_and_texts(database: Connection, document: object, left: object) -> None:
    query = "select postroom.document_without_marks(%(document)s, %(patterns)s, %(instead)s)"
    assert database.execute(query, VALUES | {"document": Jsonb(document)}).fetchone() == (left,)
