"""What an operator of one cell of several hears of the other cells."""

from collections.abc import Iterator

import pytest
from psycopg import connect
from pydantic import SecretStr

from commands.database import database
from commands.orgs import orgs
from engine.runtime import Runtime, install
from settings import Settings
from storage.orgs import moving
from tests.commands.calling import answer, refusal
from tests.doubles.factories import make_org

AWAY = SecretStr("postgresql://postgres@127.0.0.1:1/none")
MOMENT = "2026-11-20T04:12:00Z"


@pytest.fixture
def cell(settings: Settings) -> Iterator[Runtime]:
    """A process of the cell eu1; nobody listens where the ledger of eu2 should be."""
    made = Runtime(settings.model_copy(update={"cell": "eu1", "cell_database_urls": {"eu2": AWAY}}))
    install(made)
    yield made
    made.close()
    install(None)


@pytest.mark.usefixtures("cell")
def test_a_restored_cell_says_which_others_were_not_asked() -> None:
    """An org that has moved to one of them would run in both."""
    said = answer(database, "restored", "--to", MOMENT, status=1)
    (to_do,) = said["to_do"]
    assert to_do.startswith("the cell eu2 was not asked (")
    assert (said["moved_away"], said["nowhere"]) == ([], [])


@pytest.mark.parametrize(
    ("gateways", "line"),
    [
        ({"eu3": "https://eu3.example.org"}, "the cell eu3 was not asked (is not in POSTROOM_CELL_DATABASE_URLS)"),
        ({}, "the cell that has orgs of this one was not asked (POSTROOM_CELL_DATABASE_URLS names none)"),
    ],
)
def test_a_restored_cell_that_names_no_ledger_says_so(settings: Settings, gateways: dict[str, str], line: str) -> None:
    alone = Runtime(settings.model_copy(update={"cell": "eu1", "cells": gateways}))
    install(alone)
    (to_do,) = answer(database, "restored", "--to", MOMENT, status=1)["to_do"]
    alone.close()
    install(None)
    assert to_do.startswith(line)


def test_an_org_stays_while_the_other_cell_is_away_when_its_copy_may(cell: Runtime, database_url: str) -> None:
    with connect(database_url, autocommit=True) as owner:
        org_id = make_org(owner)
    with cell.database.ledger() as tx:
        moving.begin(tx, org_id, "eu2", by="ada")
    line = refusal(orgs, "stay", org_id)
    assert "the ledger of the cell eu2 is away" in line
    assert "--copy-stays" in line
    said = answer(orgs, "stay", org_id, "--copy-stays")
    assert said == {"org_id": str(org_id), "cell": "eu1", "copy_removed": False}
    assert "not on its way; name a cell" in refusal(orgs, "stay", org_id)
    assert "is none of the cells in POSTROOM_CELL_DATABASE_URLS: eu3" in refusal(orgs, "stay", org_id, "--cell", "eu3")
