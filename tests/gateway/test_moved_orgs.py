"""Whoever still comes to an org's old cell is sent on, or told where the org is; nobody else learns anything."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import httpx2
import pytest

from domain.approvals.decision import Choice, Refusal
from domain.approvals.links import DecisionLink
from domain.approvals.question import WORDS
from domain.notifications.unsubscribing import UnsubscribeLink
from domain.orgs.access.api_keys import NOISE, Role, make_key
from domain.orgs.access.users import UserRole
from domain.planning.files.artifact_urls import read_artifacts_url
from domain.planning.files.links import ArtifactLink
from operations.orgs import moves
from operations.orgs.moves import MoveStep
from providers.discord.messages import Press, custom_id_of
from sandbox.discord.presses import PUBLIC_KEY, press, signed
from sandbox.emulator.control import GmailControl
from sandbox.google.gmail import gmail_emulator
from settings import Settings
from storage.approvals import approvals
from storage.orgs.access import api_keys, users
from storage.orgs.access.api_keys import KeyOptions
from storage.orgs.access.users import UserChanges
from storage.orgs.secrets.sealing import Sealer
from storage.planning.artifacts import StoredArtifact
from storage.postgres.database import Database
from tests.doubles.mail_factories import connect_account, make_consent
from tests.doubles.stored_artifacts import store_artifact
from tests.doubles.workflows.asking_nodes import asking_node
from tests.gateway.mailboxes import AUDIENCE, CURSOR, EMAIL, PUSHER, refused, syncs
from tests.gateway.serving import HttpAnswer, ask, serve, shared_database
from tests.operations.orgs.moves.two_cells import BY, THERE, TwoCells, two_cells
from tests.servers.servers import SessionServers

PRESSED = b"List-Unsubscribe=One-Click"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
DATA = b"bytes of a file"
CHANNEL, ADA = "111", "42"


@dataclass(frozen=True)
class MovedOrg:
    """An org that has moved with a person, a mailbox, a file and two questions, and the gateways of both cells."""

    org_id: UUID
    user_id: UUID
    key: str
    questions: tuple[UUID, UUID]
    file: StoredArtifact
    here: str
    there: str
    cells: TwoCells
    stores: tuple[Database, Database]
    sealer: Sealer
    gmail: GmailControl
    meanwhile: list[int | None]
    """How pushes were answered while it was on its way."""


@pytest.fixture(scope="module")
def moved(shared_settings: Settings, shared_store: Database, servers: SessionServers) -> Iterator[MovedOrg]:
    """One for all tests: none of them asks for what another has changed."""
    sealer, key = Sealer.of(shared_settings), make_key(bytes(range(NOISE)))
    with ExitStack() as stack:
        folder = read_artifacts_url(shared_settings.artifacts_url).folder
        there_settings = stack.enter_context(shared_database(servers, Path(str(folder))))
        there_store = Database(there_settings)
        stack.callback(there_store.dispose)
        here_url, there_url = (one.database_url.get_secret_value() for one in (shared_settings, there_settings))
        cells = stack.enter_context(two_cells(shared_store, here_url, there_url, sealer))
        with shared_store.ledger() as tx:
            account = connect_account(tx, sealer, "an org", EMAIL, make_consent())
            org_id = account.org_id
            user_id = users.add(tx, org_id, "ada@example.org", UserChanges(UserRole.APPROVER, ADA)).user_id
            approvals.choose_channel(tx, org_id, CHANNEL)
            api_keys.create(tx, org_id, key, KeyOptions("service", Role.WRITER), by=BY)
            file = store_artifact(tx, shared_settings, org_id, DATA)
        questions = asking_node(shared_store, org_id), asking_node(shared_store, org_id)
        gmail = GmailControl(stack.enter_context(gmail_emulator()).url)
        outside = {
            "google_url": gmail.url,
            "pubsub_audience": AUDIENCE,
            "pubsub_service_account": PUSHER,
            "discord_public_key": PUBLIC_KEY,
        }
        there = stack.enter_context(serve(there_settings.model_copy(update=outside)))
        here = stack.enter_context(serve(shared_settings.model_copy(update={**outside, "cells": {THERE: there}})))
        meanwhile: list[int | None] = []

        def push(step: MoveStep) -> None:
            if step is MoveStep.CLOSED:
                gmail.configure_push(f"{here}/webhooks/gmail", AUDIENCE, service_account=PUSHER)
                meanwhile.extend(gmail.push(EMAIL, history_id=CURSOR))

        moves.move(cells.cells, str(org_id), by=BY, has_files=True, done=push)
        stores = shared_store, there_store
        yield MovedOrg(org_id, user_id, key.text, questions, file, here, there, cells, stores, sealer, gmail, meanwhile)


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
    assert ask(url, PRESSED, FORM).status == 200
    assert moved.cells.there.execute(asked, (moved.org_id,)).fetchall() == [("bookings", "email", "off")]
    assert ask(altered(url), PRESSED, FORM).status == 200
    assert moved.cells.here.execute("select count(*) from preferences").fetchone() == (0,)


def test_a_decision_link_decides_in_the_new_cell(moved: MovedOrg) -> None:
    question, _ = moved.questions
    link = DecisionLink(question, moved.user_id).address("", moved.sealer.sign)
    assert first_answer(moved.here, link) == (308, f"{moved.there}{link}")
    with httpx2.Client(follow_redirects=True) as browser:
        assert "Send the brief?" in browser.get(f"{moved.here}{link}").text
        pressed = browser.post(f"{moved.here}{link}", data={"choice": "approve"})
    assert (pressed.status_code, str(pressed.url)) == (200, f"{moved.there}{link}")
    assert decided_by(moved, question) == "ada@example.org"


def test_a_files_link_reads_it_in_the_new_cell(moved: MovedOrg) -> None:
    until = datetime.now(UTC) + timedelta(hours=1)
    link = ArtifactLink(moved.file.artifact_id, moved.org_id, until).address("", moved.sealer.sign)
    assert first_answer(moved.here, link) == (308, f"{moved.there}{link}")
    read = ask(f"{moved.here}{link}")
    assert (read.status, read.body) == (200, DATA)
    assert ask(f"{moved.here}{altered(link)}").status == 404


def test_links_of_nobody_who_has_moved_lead_nowhere(moved: MovedOrg) -> None:
    link = DecisionLink(uuid4(), moved.user_id).address("", moved.sealer.sign)
    nobodys = DecisionLink(uuid4(), uuid4()).address("", moved.sealer.sign)
    for nowhere in (altered(link), nobodys, f"/a/{uuid4()}"):
        assert first_answer(moved.here, nowhere) == (404, None)


def altered(link: str) -> str:
    return link[:-1] + ("0" if link[-1] != "0" else "1")


def first_answer(url: str, path: str) -> tuple[int, str | None]:
    """Status and `Location`, as they come: nothing is followed."""
    answer = httpx2.get(f"{url}{path}")
    return answer.status_code, answer.headers.get("Location")


def decided_by(moved: MovedOrg, question: UUID) -> str | None:
    """Who has decided in the new cell; the old one has no such question."""
    asked = "select decided_by from workflow_nodes where approval_id = %s"
    assert moved.cells.here.execute(asked, (question,)).fetchall() == []
    ((who,),) = moved.cells.there.execute(asked, (question,)).fetchall()
    return None if who is None else str(who)


def test_a_press_on_discord_decides_in_the_new_cells_application_alone(moved: MovedOrg) -> None:
    _, question = moved.questions
    assert pressed_on_discord(moved.here, question).json["data"]["content"] == WORDS[Refusal.NOT_HERE]
    assert decided_by(moved, question) is None
    assert pressed_on_discord(moved.there, question).json["type"] == 7
    assert decided_by(moved, question) == "ada@example.org"


def pressed_on_discord(gateway: str, question: UUID) -> HttpAnswer:
    """Ada approves; the application has that gateway's address."""
    message = {"id": "5", "channel_id": CHANNEL, "content": "?"}
    made = signed(press(message, custom_id_of(Press(Choice.APPROVE, question, 0)), ADA))
    return ask(f"{gateway}/webhooks/discord/interactions", made.body, made.headers)


def test_a_push_of_gmails_is_of_no_account_here_and_a_sync_there(moved: MovedOrg) -> None:
    assert moved.meanwhile == [503], "it comes again"
    here, there = moved.stores
    for gateway in (moved.here, moved.there):
        moved.gmail.configure_push(f"{gateway}/webhooks/gmail", AUDIENCE, service_account=PUSHER)
        assert moved.gmail.push(EMAIL, history_id=CURSOR + 1) == [204]
    assert (refused(here)["unknown_account"], syncs(here)) == (1, [])
    assert refused(there) == {}
    assert [(org_id, state) for org_id, state, _ in syncs(there)] == [(moved.org_id, "queued")]


def test_a_webhook_of_the_org_is_refused_with_its_cell(moved: MovedOrg) -> None:
    for path in (f"/webhooks/resend/{moved.org_id}", f"/webhooks/twilio/replies/{moved.org_id}"):
        refused = ask(f"{moved.here}{path}", b"{}")
        assert (refused.status, refused.json["code"]) == (421, "org_moved")
    assert ask(f"{moved.here}/webhooks/resend/{uuid4()}", b"{}").status == 200
