"""What is around every page: headers, files, themes, troubles, and whose numbers the head has."""

import hashlib
import re
from uuid import UUID

import pytest
from psycopg import Connection

from domain.orgs.access.operators import OperatorRole
from gateway.console.rendering import POLICY, STATIC
from settings import Settings
from tests.doubles.factories import make_org
from tests.gateway.console.conftest import SignIn
from tests.gateway.console.signed import SignedBrowser
from tests.gateway.serving import ask, serve

HTMX = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
"""Of `dist/htmx.min.js` in the package htmx.org 2.0.11."""


def test_htmx_is_the_one_that_was_vendored_with_its_licence() -> None:
    assert hashlib.sha256((STATIC / "htmx-2.0.11.min.js").read_bytes()).hexdigest() == HTMX
    assert "Zero-Clause BSD" in (STATIC / "htmx-LICENSE.txt").read_text()


def test_a_page_loads_only_files_of_the_gateway_and_is_not_kept(admin: SignedBrowser) -> None:
    answer = admin.get("/orgs")
    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")
    files = re.findall(r'(?:src|href)="(/console/static/[^"]+)"', answer.body.decode())
    assert len(files) == 4
    for file in files:
        found = ask(f"{admin.url}{file}")
        assert (found.status, "immutable" in found.headers["cache-control"]) == (200, True)
        assert hashlib.sha256(found.body).hexdigest().startswith(file.split("/")[3])
    assert ask(f"{admin.url}/console/static/0000000000000000/console.css").status == 404
    assert ask(f"{admin.url}/console/static/x/rendering.py").status == 404


def test_a_theme_is_kept_and_leads_back_into_the_console_only(admin: SignedBrowser) -> None:
    answer = admin.post("/theme", {"theme": "dark", "back": "/console/orgs?of_org="})
    assert answer.status == 200
    themed = SignedBrowser(admin.url, f"{admin.cookie}; postroom-theme=dark")
    assert 'data-theme="dark"' in themed.text()
    assert "data-theme" not in SignedBrowser(admin.url, f"{admin.cookie}; postroom-theme=%22x").text()
    assert admin.post("/theme", {"theme": "pink"}).status == 422
    assert b"Overview" in admin.post("/theme", {"theme": "", "back": "https://evil.example/"}).body


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/nothing", 404, "there is no page nothing"),
        ("/jobs/nothing", 404, "there is no page jobs/nothing"),
        ("/jobs/show/of/it", 404, "there is no page jobs/show"),
        (f"/jobs/show?job_id={UUID(int=7)}", 404, "there is no job"),
        ("/reminders?colour=red", 422, "is no field of this page"),
        ("/jobs?colour=red", 422, "is no field of this page"),
        ("/jobs?cursor=x", 422, "is no cursor of this list"),
        ("/jobs?of_org=x", 422, "is no id of an org"),
    ],
)
def test_a_refusal_is_a_page_that_says_what_is_wrong(admin: SignedBrowser, path: str, status: int, words: str) -> None:
    assert words in admin.text(path, status)


def test_a_form_without_the_sessions_token_changes_nothing(
    admin: SignedBrowser, sign_in: SignIn, database: Connection
) -> None:
    typed = {"name": "acme", "confirmed": "yes"}
    for token in ("", sign_in().token()):
        assert admin.post("/orgs/add", typed | {"token": token}).status == 403
    assert database.execute("select count(*) from orgs where name = 'acme'").fetchone() == (0,)


def test_an_operator_of_some_orgs_sees_neither_the_fleets_numbers_nor_other_orgs_names(
    sign_in: SignIn, org: object, database: Connection
) -> None:
    other = make_org(database, "the others")
    browser = sign_in(OperatorRole.SUPPORT, other)
    text = browser.text()
    assert browser.get("/pulse").status == 204
    assert ("the others" not in text, "dead letters</span>" not in text) == (True, True)
    assert str(org) not in text


def test_a_setting_leaves_the_console_out(settings: Settings) -> None:
    with serve(settings.model_copy(update={"console": False})) as url:
        assert {ask(f"{url}/console{path}").status for path in ("", "/jobs", "/sign-in", "/pulse")} == {404}
