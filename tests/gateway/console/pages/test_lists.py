"""Jobs by one line, effects in doubt, and the search that every page has."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.failures import Invalid
from domain.jobs.job import SYSTEM_ORG, State
from domain.orgs.access.operators import OperatorRole
from engine.runtime import Runtime
from gateway.console.pages.jobs.filter_line import read_line
from tests.doubles import probe_jobs
from tests.doubles.factories import enqueue_one, make_org
from tests.gateway.console.conftest import SignIn
from tests.gateway.console.signed import SignedBrowser
from tests.operations.jobs.test_dead_letters import DOUBT, die

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def test_a_line_is_what_the_list_takes() -> None:
    found = read_line("type:a.b state:dead,failed queue:default since:2h payload.account.id=7 org:acme", NOW)
    assert found.org == "acme"
    assert found.parameters == {
        "job_type": ["a.b"],
        "state": [State.DEAD, State.FAILED],
        "queue": "default",
        "since": NOW - timedelta(hours=2),
        "payload": ["account.id=7"],
    }
    assert set(read_line("state:unfinished,dead", NOW).parameters["state"]) == {
        State.QUEUED, State.CLAIMED, State.RUNNING, State.DEAD,
    }  # fmt: skip


@pytest.mark.parametrize(
    "line", ["hello", "state:odd", "queue:odd", "since:soon", "type:", "since:999999d", "type:a type:b", "payload=1"]
)
def test_a_word_that_is_none_is_named(line: str, admin: SignedBrowser) -> None:
    with pytest.raises(Invalid):
        read_line(line, NOW)
    assert 'role="alert"' in admin.text(f"/jobs?q={line.replace(' ', '+')}", 422)


def test_jobs_are_found_by_the_line(admin: SignedBrowser, process: Runtime, org: UUID) -> None:
    assert "There is no job yet" in admin.text("/jobs")
    dead = die(process, org, probe_jobs.ending, word="transient")
    waiting = enqueue_one(process.database, org, "probe_jobs.ending", payload={"word": "well"})
    found = {
        line: {one for one in (dead, waiting) if f"…{str(one)[-8:]}" in admin.text(f"/jobs?q={line}")}
        for line in ("", "state:dead", "type:probe_jobs.ending+since:1h", "payload.word=well", "org:nobody+since:1h")
        if "nobody" not in line
    }
    assert found == {
        "": {dead, waiting},
        "state:dead": {dead},
        "type:probe_jobs.ending+since:1h": {dead, waiting},
        "payload.word=well": {waiting},
    }
    assert "is no org that you see" in admin.text("/jobs?q=org:nobody", 422)
    listed = admin.text("/jobs?q=state:dead")
    for field in (
        'name="verb" value="retry"',
        'name="state" value="dead"',
        f'form="bulk" name="job_id" value="{dead}"',
    ):
        assert field in listed
    assert f"…{str(dead)[-8:]}" in admin.text("/jobs?state=dead")


def test_all_that_an_address_says_narrows_the_list(admin: SignedBrowser, process: Runtime, org: UUID) -> None:
    """What is done to all that match is done to no more than the address says."""
    jobs = {
        word: enqueue_one(process.database, org, "probe_jobs.ending", payload={"word": word})
        for word in ("well", "ill")
    }
    typed = "payload=word=well&job_type=probe_jobs.effectful&job_type=probe_jobs.ending&q=state:queued"
    text = admin.text(f"/jobs?{typed}")
    assert [word for word, one in jobs.items() if f"…{str(one)[-8:]}" in text] == ["well"]
    for query in (
        "payload=word=well&payload=word=ill", "q=payload.word=well&payload=word=ill", "queue=default&queue=bulk",
        "q=payload.word=well&q=payload.word=ill", "q=since:1h&since=2h",
    ):  # fmt: skip
        assert "twice" in admin.text(f"/jobs?{query}", 422), query


def test_a_doubt_is_shown_with_two_answers_and_decided(
    admin: SignedBrowser, sign_in: SignIn, process: Runtime, org: UUID, database: Connection
) -> None:
    assert "No effect is in doubt" in admin.text("/effects")
    die(process, org, probe_jobs.effectful, **DOUBT)
    text = admin.text("/effects")
    assert "no answer" in text
    assert "cannot be asked" in text
    assert (text.count("It happened</button>"), text.count("It did not happen</button>")) == (1, 1)
    assert "It happened" not in sign_in(OperatorRole.VIEWER).text("/effects")
    ruled = {"of_org": str(org), "key": "call", "happened": "true", "result": '{"id": 7}', "confirmed": "yes"}
    assert admin.post("/effects/rule", ruled).status in {200, 303}
    assert database.execute("select result_ref from idempotency_keys where key = 'call'").fetchone() == ({"id": 7},)


def test_every_page_has_a_search_that_leads_to_the_thing(admin: SignedBrowser, process: Runtime, org: UUID) -> None:
    job_id = enqueue_one(process.database, org, "probe_jobs.ending", payload={"word": "well"})
    assert 'action="/console/search/search"' in admin.text()
    assert f"/console/jobs/show?job_id={job_id}" in admin.text(f"/search/search?q={job_id}")
    assert f"/console/jobs/show?job_id={job_id}" in admin.text(f"/search/search?q={job_id}&of_org={SYSTEM_ORG}")
    assert "nothing has the id" in admin.text(f"/search?q={uuid4()}")
    assert "Nothing was asked for yet" in admin.text("/search")


def test_an_operator_of_some_orgs_finds_what_is_of_them(
    sign_in: SignIn, process: Runtime, org: UUID, database: Connection
) -> None:
    own, foreign = (
        enqueue_one(process.database, one, "probe_jobs.ending", payload={"word": "a"})
        for one in (org, make_org(database, "the others"))
    )
    browser = sign_in(OperatorRole.OPERATOR, org)
    assert f"…{str(own)[-8:]}" in browser.text("/jobs")
    assert f"…{str(foreign)[-8:]}" not in browser.text("/jobs")
    assert f"job_id={foreign}" not in browser.text(f"/search?q={foreign}")
    assert f"job_id={own}" in browser.text(f"/search?q={own}")
