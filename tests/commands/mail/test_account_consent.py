"""The command that makes the link for a mailbox's owner."""

import webbrowser
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from click.testing import CliRunner
from psycopg import Connection
from pydantic import SecretStr

from commands.accounts import accounts
from engine.app import publish_catalogue
from engine.runtime import Runtime, install
from settings import Settings
from storage.mail.accounts import consents
from tests.commands.calling import answer, refusal

CONNECT = ("connect", "anna@example.com", "--org", "acme")


@pytest.fixture
def process(settings: Settings) -> Iterator[Runtime]:
    client = {"google_client_id": "c", "google_client_secret": SecretStr("a secret")}
    made = Runtime(settings.model_copy(update=client | {"public_url": "https://mail.example.org"}))
    install(made)
    publish_catalogue()
    yield made
    install(None)
    made.close()


class ProbeBrowser(webbrowser.BaseBrowser):
    """Opens nothing, and remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__("probe")
        self.opened: list[str] = []

    def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:  # noqa: ARG002, FBT002 - as the base class has it
        self.opened.append(url)
        return True


def test_a_link_is_made_and_shown_once(process: Runtime, database: Connection) -> None:
    made = answer(accounts, *CONNECT, "--as", "ada")
    address = urlsplit(made["link"])
    assert (address.scheme, address.netloc, address.path) == ("https", "mail.example.org", "/oauth/google/start")
    secret = parse_qs(address.query)["link"][0]
    with process.database.ledger() as tx:
        found = consents.by_link(tx, secret)
    assert found is not None
    assert (found.org, found.email, found.asked_by.actor_id) == ("acme", "anna@example.com", "operator:ada")
    kept = database.execute("select to_jsonb(c)::text from consent_requests c").fetchone()
    assert kept is not None
    assert secret not in kept[0]


def test_a_person_gets_the_link_in_one_line_whatever_the_terminals_width(process: Runtime) -> None:
    assert process.database is not None
    lines = CliRunner(env={"COLUMNS": "60"}).invoke(accounts, list(CONNECT)).output.splitlines()
    (link,) = [line for line in lines if line.startswith("https://")]
    with process.database.ledger() as tx:
        assert consents.by_link(tx, parse_qs(urlsplit(link).query)["link"][0]) is not None


def test_an_org_is_named_by_its_id_too_and_none_is_made_of_an_id(process: Runtime, database: Connection) -> None:
    assert process.database is not None
    answer(accounts, *CONNECT)
    ((org_id,),) = database.execute("select id from orgs where name = 'acme'").fetchall()
    answer(accounts, "connect", "anna@example.com", "--org", org_id)
    nobody = uuid4()
    assert f"there is no org {nobody}" in refusal(accounts, "connect", "anna@example.com", "--org", nobody)
    assert database.execute("select count(distinct org_id) from consent_requests").fetchone() == (1,)
    database.execute("insert into orgs (name) values ('acme')")
    assert "acme" in refusal(accounts, *CONNECT)


def test_the_link_is_opened_in_a_browser(process: Runtime) -> None:
    assert process.database is not None
    probe = ProbeBrowser()
    webbrowser.register("probe", None, probe, preferred=True)
    made = answer(accounts, *CONNECT, "--browser")
    assert probe.opened == [made["link"]]


def test_bad_orders_make_no_link(process: Runtime, database: Connection) -> None:
    assert process.database is not None
    assert "email: is no address" in refusal(accounts, "connect", "anna", "--org", "acme")
    assert "owner: is no address" in refusal(accounts, *CONNECT, "--owner", "x")
    assert database.execute("select count(*) from consent_requests").fetchone() == (0,)


def test_old_links_go_with_new_ones(process: Runtime, database: Connection) -> None:
    assert process.database is not None
    answer(accounts, *CONNECT)
    database.execute("update consent_requests set link_expires_at = now() - interval '8 days'")
    answer(accounts, *CONNECT)
    assert database.execute("select count(*) from consent_requests").fetchone() == (1,)
