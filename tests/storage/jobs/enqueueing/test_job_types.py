"""Whose a job type is: two packages on one ledger may not take one name."""

from typing import Any

import pytest
from psycopg import Connection

from domain.jobs.failures import Invalid
from storage.postgres.database import Database
from tests.doubles.factories import make_job_type


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {}),
        ({"aliases": ("confirm",)}, {"name": "orders.tell", "aliases": ("confirm",)}),
        ({}, {"name": "orders.tell", "aliases": ("orders.confirm",)}),
        ({"aliases": ("orders.tell",)}, {"name": "orders.tell"}),
    ],
    ids=["one name", "one alias", "an alias that is a name", "a name that is an alias"],
)
def test_a_name_of_another_package_is_refused_and_changes_nothing(
    store: Database, database: Connection, first: dict[str, Any], second: dict[str, Any]
) -> None:
    make_job_type(store, **{"name": "orders.confirm", "package": "shop", "queue": "exports", **first})
    with pytest.raises(Invalid, match=r"which the package shop has in this ledger"):
        make_job_type(store, **{"name": "orders.confirm", "package": "bakery", **second})
    assert database.execute("select name, package, queue from job_types").fetchall() == [
        ("orders.confirm", "shop", "exports")
    ]


def test_a_package_publishes_its_own_job_types_anew(store: Database, database: Connection) -> None:
    for queue in ("exports", "planning"):
        make_job_type(store, name="orders.confirm", package="shop", queue=queue)
    make_job_type(store, name="orders.tell", aliases=("orders.confirm",), package="shop")  # a new name for the same
    assert database.execute("select name, queue from job_types order by name").fetchall() == [
        ("orders.confirm", "planning"),
        ("orders.tell", "default"),
    ]
