"""Whoever still comes to an org's old cell is sent on, or told where the org is; nobody else learns anything."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http.client import HTTPConnection
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.approvals.links import DecisionLink
from domain.notifications.unsubscribing import UnsubscribeLink
from domain.orgs.access.api_keys import NOISE, Role, make_key
from operations.orgs import moves
from settings import Settings
from storage.orgs.access import api_keys
from storage.orgs.access.api_keys import KeyOptions
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Database
from tests.doubles.factories import make_org
from tests.gateway.serving import ask, serve
from tests.operations.orgs.two_cells import BY, THERE, TwoCells, settings_of, two_cells
from tests.servers.servers import TEMPLATE, SessionServers, temporary_database

PRESSED = b"List-Unsubscribe=One-Click"


@dataclass(frozen=True)
class MovedOrg:
    """An org that has moved, and the gateways of both cells."""

    org_id: UUID
    user_id: UUID
    key: str
    here: str
    there: str
    cells: TwoCells
    sealer: Sealer


@pytest.fixture
def moved(
    settings: Settings, store: Database, database: Connection, database_url: str, servers: SessionServers
) -> Iterator[MovedOrg]:
    sealer, org_id, key = Sealer.of(settings), make_org(database), make_key(bytes(range(NOISE)))
    with ExitStack() as stack:
        there_url = stack.enter_context(temporary_database(servers, template=TEMPLATE, named="there"))
        cells = stack.enter_context(two_cells(store, database_url, there_url, sealer))
        query = "insert into users (org_id, email) values (%s, 'ada@example.org') returning id"
        (user_id,) = database.execute(query, (org_id,)).fetchone() or (None,)
        with store.ledger() as tx:
            api_keys.create(tx, org_id, key, KeyOptions("service", Role.WRITER), by=BY)
        there = stack.enter_context(serve(settings_of(settings, there_url)))
        here = stack.enter_context(serve(settings.model_copy(update={"cells": {THERE: there}})))
        moves.move(cells.cells, str(org_id), by=BY)
        yield MovedOrg(org_id, UUID(str(user_id)), key.text, here, there, cells, sealer)


def test_a_key_is_told_the_cell_and_is_good_there(moved: MovedOrg) -> None:
    bearer = {"Authorization": f"Bearer {moved.key}"}
    refused = ask(f"{moved.here}/v1/org", headers=bearer)
    assert (refused.status, refused.json["code"]) == (421, "org_moved")
    assert refused.json["detail"] == f"the org is in the cell {THERE}: {moved.there}"
    assert ask(f"{moved.there}/v1/org", headers=bearer).json["org_id"] == str(moved.org_id)


def test_another_key_learns_nothing(moved: MovedOrg) -> None:
    for key in (make_key(bytes(NOISE)).text, "nonsense"):
        assert ask(f"{moved.here}/v1/org", headers={"Authorization": f"Bearer {key}"}).status == 401


def test_who_unsubscribes_by_an_old_mail_is_heard_in_the_new_cell(moved: MovedOrg) -> None:
    """RFC 8058, section 3.2: whoever presses by a program follows no redirect."""
    url = UnsubscribeLink(moved.user_id, "bookings").address(moved.here, moved.sealer.sign)
    assert ask(url).status == 200
    asked = "select category, channel, choice from preferences where org_id = %s"
    assert moved.cells.there.execute(asked, (moved.org_id,)).fetchall() == []
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert ask(url, PRESSED, form).status == 200
    assert moved.cells.there.execute(asked, (moved.org_id,)).fetchall() == [("bookings", "email", "off")]
    assert ask(url[:-1] + ("0" if url[-1] != "0" else "1"), PRESSED, form).status == 200
    assert moved.cells.here.execute("select count(*) from preferences").fetchone() == (0,)


def test_links_lead_to_the_same_path_in_the_new_cell(moved: MovedOrg) -> None:
    link = DecisionLink(uuid4(), moved.user_id).address("", moved.sealer.sign)
    assert first_answer(moved.here, link) == (308, f"{moved.there}{link}")
    for nowhere in (link[:-1] + ("0" if link[-1] != "0" else "1"), nobodys(moved), f"/a/{uuid4()}"):
        assert first_answer(moved.here, nowhere) == (404, None)


def nobodys(moved: MovedOrg) -> str:
    """A link of somebody who was never here."""
    return DecisionLink(uuid4(), uuid4()).address("", moved.sealer.sign)


def first_answer(url: str, path: str) -> tuple[int, str | None]:
    """Status and `Location`, as they come: nothing is followed."""
    parts = urlsplit(url)
    connection = HTTPConnection(str(parts.hostname), parts.port, timeout=30)
    with closing(connection):
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Location")


def test_a_webhook_of_the_org_is_refused_with_its_cell(moved: MovedOrg) -> None:
    for path in (f"/webhooks/resend/{moved.org_id}", f"/webhooks/twilio/replies/{moved.org_id}"):
        refused = ask(f"{moved.here}{path}", b"{}")
        assert (refused.status, refused.json["code"]) == (421, "org_moved")
    assert ask(f"{moved.here}/webhooks/resend/{uuid4()}", b"{}").status == 200
