"""Every page by hand: who sees it, what it says of an empty ledger, and of one that is in trouble."""

from uuid import UUID

import pytest
from psycopg import Connection

from domain.orgs.access.operators import OperatorRole
from gateway.console.frame import KEYS
from gateway.console.pages import pages
from tests.doubles.factories import make_org
from tests.gateway.console.conftest import SignIn
from tests.gateway.console.signed import SignedBrowser
from tests.storage.jobs.audit_log.longer_spans import SPREAD

PAGES = {one.path: one for one in pages()}
OF_NOTHING = [path for path, one in PAGES.items() if one.key]
"""Pages that are there without a thing to show."""


def at(path: str, query: str = "") -> str:
    return f"/{path}".rstrip("/") + query


@pytest.mark.parametrize("role", list(OperatorRole))
def test_a_page_is_there_for_whoever_may_call_its_operation(sign_in: SignIn, org: UUID, role: OperatorRole) -> None:
    everywhere, here = sign_in(role), sign_in(role, org)
    for path in OF_NOTHING:
        needs = PAGES[path].needs
        may = needs is None or role.includes(needs.least)
        answers = {browser: browser.get(at(path)) for browser in (everywhere, here)}
        assert answers[everywhere].status == (200 if may else 403), path
        assert answers[here].status == (200 if may and not (needs and needs.is_of_fleet) else 403), path
        assert (f'href="/console{at(path)}" data-key' in everywhere.text()) is may, path


def test_a_page_shows_nothing_of_an_org_outside_of_the_scope(sign_in: SignIn, org: UUID, database: Connection) -> None:
    other = make_org(database, "the others")
    browser = sign_in(OperatorRole.ADMIN, org)
    for path in PAGES:
        answer = browser.get(at(path, f"?of_org={other}"))
        assert (answer.status, b"the others" not in answer.body) == (403, True), path


def test_a_page_knows_the_fields_of_its_address(admin: SignedBrowser) -> None:
    for path in OF_NOTHING:
        assert "is no field of this page" in admin.text(at(path, "?colour=red"), 422), path


def test_each_key_leads_to_one_page() -> None:
    keys = [*KEYS.values(), *(one.key for one in pages() if one.key and one.path not in KEYS)]
    assert len(keys) == len(set(keys))
    assert all(one.key == KEYS.get(one.path, one.key) for one in pages() if one.key)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", ("Nothing was measured yet", "celery -A tasks worker", "Nothing in this range")),
        ("/workers", ("Nothing was measured yet", "None: nothing keeps jobs back")),
        ("/failures", ("No job has failed in a way that fits",)),
        ("/costs", ("No job ended in this range",)),
        ("/health", ("No check has run yet", "nothing was ever counted")),
    ],
)
def test_a_page_of_an_empty_ledger_says_so_and_what_to_do(
    admin: SignedBrowser, path: str, words: tuple[str, ...]
) -> None:
    text = admin.text(path)
    assert [one for one in words if one not in text] == []


def fill(database: Connection, org: UUID) -> None:
    """A queue that is late, a kind of failure, a dead letter's count and a cost."""
    database.execute("insert into queue_samples values (date_trunc('minute', now()), 1, 'critical', 5, 0, 3, 1, 2, 90)")
    database.execute(
        "insert into job_minutes (minute, job_type, queue, enqueued, started, retried, succeeded, failed, dead,"
        " canceled, lost, seconds, histogram, microcents)"
        " select date_trunc('minute', now()) - n * interval '1 minute', 'a.b', 'critical', 6, 6, 1, 4, 1, 1,"
        " 1, 0, 9, array_fill(0, array[5]) || array[6, 1] || array_fill(0, array[10]), 500"
        " from generate_series(1, 30) as n"
    )
    database.execute(SPREAD.encode())
    database.execute(
        "insert into org_hours values (date_trunc('hour', now()), %s, 'a.b', 9, 7, 1, 1, 0, 60, 250000000)", (org,)
    )
    database.execute(
        "insert into failure_groups (fingerprint, code, job_type, words, first_seen, last_seen, failures, job_ids)"
        " values ('f1', 'gone', 'a.b', 'the <mailbox> is gone', now(), now(), 3, array[%s::uuid])",
        (org,),
    )


def test_pages_say_what_is_wrong_in_words(admin: SignedBrowser, org: UUID, database: Connection) -> None:
    fill(database, org)
    overview = admin.text()
    assert "Critical is late: its oldest due job waits for 1.5 min, 30 s are allowed." in overview
    assert "the &lt;mailbox&gt; is gone" in overview
    assert 'aria-label="Jobs by end, per minute. From' in overview
    for name in ("6h", "1d", "7d", "35d", "100d", "400d"):
        assert "<path" in admin.text(f"?range={name}"), name
    assert "$2.50" in admin.text("/costs?range=7d")
    assert "$2.50" in admin.text(f"/costs?range=7d&of_org={org}")
    assert "of_org" in admin.text(f"?of_org={org}")


def test_closing_a_queue_says_first_how_many_would_wait(admin: SignedBrowser, org: UUID, database: Connection) -> None:
    fill(database, org)
    assert "/console/workers/close?queue=critical" in admin.text("/workers")
    page = admin.text("/workers/close?queue=critical")
    # 9 wait, and three a minute came in the last hour.
    assert ("<b>9</b> wait now" in page, "<b>39</b> wait after 10 minutes" in page) == (True, True)
    typed = {"scope": "queue", "key": "critical", "reason": "a test", "confirmed": "yes"}
    assert b"a test" in admin.post("/gates/close", typed).body
    assert "a test" in admin.text("/workers")
    assert "is one of critical" in admin.text("/workers/close?queue=x", 422)


def test_a_kind_of_failure_is_marked_from_its_line(
    admin: SignedBrowser, sign_in: SignIn, org: UUID, database: Connection
) -> None:
    fill(database, org)
    text = admin.text("/failures?code=gone")
    assert "/console/failures/mark?fingerprint=f1&amp;state=mended" in text
    assert f"/console/jobs/show?job_id={org}" in text
    assert "failures/mark" not in sign_in(OperatorRole.VIEWER).text("/failures")
    typed = {"fingerprint": "f1", "state": "known", "note": "see the report", "confirmed": "yes"}
    assert admin.post("/failures/mark", typed).status == 200
    assert "see the report" in admin.text("/failures?state=known")
    assert "No job has failed" in admin.text("/failures?state=mended")
