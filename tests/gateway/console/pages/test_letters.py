"""Dead letters: groups, one letter with its plan, the mend with its diff, and what is done to all of a group."""

import json
import re
import shlex
from html import unescape
from urllib.parse import urlencode
from uuid import UUID

import pytest
from psycopg import Connection

from domain.orgs.access.operators import OperatorRole
from engine.runtime import Runtime
from gateway.console.rendering import rendered
from operations.jobs.bulk_actions import BulkPreview
from tests.doubles import probe_jobs
from tests.doubles.factories import make_org
from tests.gateway.console.conftest import SignIn
from tests.gateway.console.signed import SignedBrowser
from tests.operations.jobs.test_dead_letters import DOUBT, die
from tests.operations.jobs.test_mends_of_words import WORDS, dead_mail, orders


def test_letters_are_grouped_by_what_went_wrong(admin: SignedBrowser, process: Runtime, org: UUID) -> None:
    assert "No job is dead" in admin.text("/deadletters")
    first, second = (die(process, org, probe_jobs.ending, word="transient") for _ in range(2))
    doubtful = die(process, org, probe_jobs.effectful, **DOUBT)
    text = admin.text("/deadletters")
    assert re.search(r"transient</bdi></a></td>.*?probe_jobs\.ending.*?letters\">2<", text, re.DOTALL)
    assert all(f"…{str(one)[-8:]}" in text for one in (first, second, doubtful))
    group = admin.text("/deadletters?error_code=uncertain&job_type=probe_jobs.effectful")
    assert f"…{str(doubtful)[-8:]}" in group
    assert f"…{str(first)[-8:]}" not in group
    for name, value in (("verb", "replay"), ("job_type", "probe_jobs.effectful"), ("error_code", "uncertain")):
        assert f'name="{name}" value="{value}"' in group
    assert f'form="bulk" name="job_id" value="{doubtful}"' in group


def test_a_letter_says_what_a_replay_would_do(admin: SignedBrowser, process: Runtime, org: UUID) -> None:
    text = admin.text(f"/deadletters/show?letter_id={die(process, org, probe_jobs.effectful, **DOUBT)}")
    assert "needs your word" in text
    assert "It would be refused now" in text
    assert "/console/deadletters/discard?letter_id=" in text


def test_a_deed_by_http_and_at_a_terminal_has_all_that_it_takes(
    admin: SignedBrowser, process: Runtime, org: UUID
) -> None:
    """At the public address, with a word in the place of what a person decides."""
    job_id = die(process, org, probe_jobs.effectful, **DOUBT)
    page = unescape(admin.text(f"/deadletters/show?letter_id={job_id}"))
    lines = [shlex.split(one.rpartition("<pre>")[2]) for one in page.splitlines() if "/v1/" in one]
    sent = {url.partition("/v1/")[2].rpartition("/")[2]: (url, json.loads(body)) for _, _, _, url, *_, body in lines}
    assert {name: body for name, (_, body) in sent.items()} == {
        "replay": {}, "mend": {"patch": {"FIELD": "VALUE"}}, "discard": {"reason": "REASON"},
    }  # fmt: skip
    assert all(url.startswith("http://127.0.0.1/v1/") for url, _ in sent.values())
    assert re.search(r"celery -A tasks deadletters discard \S{36} --reason REASON\n", page.replace("</pre>", "\n"))
    assert f"""celery -A tasks jobs mend {job_id} --patch '{{"FIELD": "VALUE"}}'""" in page


def test_an_operator_of_some_orgs_sees_their_letters_and_no_other(
    sign_in: SignIn, process: Runtime, org: UUID, database: Connection
) -> None:
    own, foreign = (
        die(process, one, probe_jobs.ending, word="transient") for one in (org, make_org(database, "the others"))
    )
    browser = sign_in(OperatorRole.SUPPORT, org)
    text = browser.text("/deadletters")
    assert f"…{str(own)[-8:]}" in text
    assert f"…{str(foreign)[-8:]}" not in text
    assert "a passing trouble" in browser.text(f"/deadletters/show?letter_id={own}")
    assert "there is no dead letter" in browser.text(f"/deadletters/show?letter_id={foreign}", 404)


def test_a_mend_is_typed_shown_as_a_difference_and_done(
    admin: SignedBrowser, process: Runtime, org: UUID, database: Connection
) -> None:
    job_id = die(process, org, probe_jobs.ending, word="transient")
    assert "Now text(9)." in admin.text(f"/jobs/mend?job_id={job_id}")
    typed = {"job_id": str(job_id), "reason": "a test"}
    nothing = admin.post("/jobs/mend", typed)
    assert (nothing.status, b"nothing is changed" in nothing.body) == (422, True)
    odd = admin.post("/jobs/mend", typed | {"patch": '{"word": 5}'})
    assert (odd.status, b'id="field-field.word-trouble"' in odd.body) == (422, True)
    asked = admin.post("/jobs/mend?show_values=yes", typed | {"field.word": "well"})
    assert asked.status == 200
    assert b"<del><bdi>transient</bdi></del>" in asked.body
    assert b"<ins><bdi>well</bdi></ins>" in asked.body
    assert database.execute("select count(*) from jobs where replay_of is not null").fetchone() == (0,)
    done = admin.post("/jobs/mend", typed | {"patch": '{"word": "well"}', "confirmed": "yes"})
    assert done.status in {200, 303}
    assert database.execute("select payload ->> 'word' from jobs where replay_of = %s", (job_id,)).fetchone() == (
        "well",
    )
    assert b">well<" not in done.body
    events = admin.text(f"/jobs/show?job_id={job_id}").partition("deadletter.replayed")[2]
    assert "text(4)" in events, "the event's changes are shapes"
    assert "&#34;well&#34;" not in events
    assert "a test" in events
    assert "&#34;well&#34;" in admin.text(f"/jobs/show?job_id={job_id}&show_values=yes")


def test_a_mend_by_words_is_previewed_and_makes_nothing_yet(
    admin: SignedBrowser, process: Runtime, org: UUID, database: Connection
) -> None:
    job_id, patch = dead_mail(process, org), json.dumps(WORDS)
    asked = admin.post("/jobs/mend", {"job_id": str(job_id), "patch": patch})
    assert (asked.status, b"made of these words when the job is mended" in asked.body) == (200, True)
    assert "none would be skipped" in admin.text(f"/bulk/preview?{urlencode({'verb': 'mend', 'patch': patch})}")
    assert orders(database) == 1


def test_all_of_a_group_are_previewed_and_replayed(
    admin: SignedBrowser, process: Runtime, org: UUID, database: Connection
) -> None:
    first, second, _ = (die(process, org, probe_jobs.ending, word="transient") for _ in range(3))
    ticked = admin.text(f"/bulk/preview?verb=replay&error_code=transient&job_id={first}&job_id={second}")
    assert "Replay 2 jobs?" in ticked
    assert f"{first}\n{second}</textarea>" in ticked
    assert "2 were ticked" in ticked
    asked = {"verb": "replay", "job_type": "probe_jobs.ending", "error_code": "transient"}
    text = admin.text("/bulk/preview?verb=replay&job_type=probe_jobs.ending&error_code=transient")
    assert "Replay 3 jobs?" in text
    assert "none would be skipped" in text
    pressed = asked | {"reason": "a test", "confirmed": "yes", "request": "one press"}
    answers = [admin.post("/bulk/start", pressed).status for _ in range(2)]
    ((bulk_id,),) = database.execute("select id from bulk_actions").fetchall()
    assert set(answers) <= {200, 303}
    shown = admin.text(f"/bulk/show?bulk_id={bulk_id}")
    assert "running" in shown
    assert f"/console/bulk/abort?bulk_id={bulk_id}" in shown
    wrong = admin.text("/bulk/preview?verb=replay&state=running", 422)
    assert "replay is not done to running jobs" in wrong
    assert "There is nothing to do" in admin.text("/bulk/preview?verb=cancel&job_type=probe_jobs.noop")


class NoFrame:
    """What is around a page, for one that is made without a visitor."""

    org_id = None

    def __bool__(self) -> bool:
        return False

    def address(self, area: str) -> str:
        return f"/console/{area}"


@pytest.mark.parametrize("is_all", [True, False])
def test_a_preview_says_that_none_fits_only_where_all_were_looked_at(is_all: bool) -> None:
    found = BulkPreview(
        matched=0, is_all=is_all, confirm=None, needs_another=not is_all, sample=[], examined=0, refused=[],
        effects={}, cost_microcents=0,
    )  # fmt: skip
    shown = {"verb": "retry", "found": found, "trouble": None, "typed": {}, "filter": ()}
    text = rendered("pages/jobs/bulk_preview.html", frame=NoFrame(), shown=shown)
    assert ("There is nothing to do" in text) == is_all
    assert ("None found so far" in text) == (not is_all)
    assert "at least 0" not in text
