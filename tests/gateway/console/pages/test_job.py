"""The page of a job: why it is so, its attempts, and what can be done with it, by role and scope."""

from uuid import UUID

import pytest
from psycopg import Connection

from domain.orgs.access.operators import OperatorRole
from engine.runtime import Runtime
from tests.doubles import probe_jobs
from tests.doubles.factories import enqueue_one, make_org
from tests.gateway.console.conftest import SignIn
from tests.gateway.console.signed import SignedBrowser
from tests.operations.jobs.test_dead_letters import DOUBT, die


def test_a_dead_job_says_why_shows_its_attempts_and_what_to_do(
    admin: SignedBrowser, process: Runtime, org: UUID, database: Connection
) -> None:
    job_id = die(process, org, probe_jobs.ending, word="transient")
    text = admin.text(f"/jobs/show?job_id={job_id}")
    assert text.count('class="waterfall"') == 1
    assert text.count("attempt 3") > 0
    assert "a passing trouble" in text
    assert "Mend the cause, then replay" in text
    assert f"/console/jobs/mend?job_id={job_id}" in text
    assert f"curl -X POST http://127.0.0.1/v1/jobs/{job_id}/retry" in text
    assert f"celery -A tasks jobs retry {job_id}" in text
    assert "data-watch" not in text
    assert "text(9)" in text
    looks = "select count(*) from audit_log where event = 'operator.looked'"
    assert database.execute(looks).fetchone() == (0,)
    assert "&#34;transient&#34;" in admin.text(f"/jobs/show?job_id={job_id}&show_values=yes")
    assert database.execute(looks).fetchone() != (0,)


def test_a_waiting_job_is_live_until_somebody_looks_at_values(
    admin: SignedBrowser, process: Runtime, org: UUID
) -> None:
    waiting = enqueue_one(process.database, org, "probe_jobs.ending", payload={"word": "well"})
    text = admin.text(f"/jobs/show?job_id={waiting}")
    assert f'data-watch="{waiting}"' in text
    assert f"/console/jobs/cancel?job_id={waiting}" in text
    assert "/console/jobs/retry" not in text
    assert "data-watch" not in admin.text(f"/jobs/show?job_id={waiting}&show_values=yes")


def test_an_effect_is_on_the_page_of_its_job(admin: SignedBrowser, process: Runtime, org: UUID) -> None:
    text = admin.text(f"/jobs/show?job_id={die(process, org, probe_jobs.effectful, **DOUBT)}")
    assert "effect call" in text
    assert "at most once" in text


@pytest.mark.parametrize("role", list(OperatorRole))
def test_deeds_are_those_of_the_role(sign_in: SignIn, process: Runtime, org: UUID, role: OperatorRole) -> None:
    job_id = die(process, org, probe_jobs.ending, word="transient")
    text = sign_in(role).text(f"/jobs/show?job_id={job_id}")
    assert ("/console/jobs/mend" in text) is role.includes(OperatorRole.OPERATOR)


def test_an_operator_of_some_orgs_sees_the_orgs_part_and_no_other_job(
    sign_in: SignIn, process: Runtime, org: UUID, database: Connection
) -> None:
    own = die(process, org, probe_jobs.ending, word="transient")
    foreign = die(process, make_org(database, "the others"), probe_jobs.ending, word="transient")
    browser = sign_in(OperatorRole.OPERATOR, org)
    text = browser.text(f"/jobs/show?job_id={own}")
    assert "a passing trouble" in text
    assert 'class="waterfall"' not in text
    assert "there is no job" in browser.text(f"/jobs/show?job_id={foreign}", 404)
