"""Jobs that real workers run: handed over in every way, and waited for; and the code of the client's page."""

import re
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from celery import Celery
from celery.exceptions import TaskError
from postroom_client import Client, Job, JobNotSucceeded, sql
from postroom_client.celery import send

from domain.workflows.faults import Form, read
from storage.workflows import definitions
from tests.clients.test_runs import ORDER
from tests.clients.test_sql import url_of
from tests.doubles import probe_jobs
from tests.fleet.fleet import QUIET_OPTIONS, Fleet
from tests.house.reading import ROOT
from tests.workflows import workflow_jobs
from tests.written_pages import DOCS, Page

ENDING = "probe_jobs.ending"
PAGE = Page(DOCS / "howto" / "use-the-client.md")
README = Page(ROOT / "clients" / "python" / "README.md")
WITH_WORKFLOWS = (*QUIET_OPTIONS[:-1], f"{probe_jobs.__name__},{workflow_jobs.__name__}")


def test_a_result_comes_from_a_worker(client: Client, fleet: Fleet) -> None:
    fleet.worker().ready()
    seen: list[Job] = []
    made = client.enqueue(ENDING, {"word": "hello"}, key="k")
    assert client.wait(made.job_id, timeout_s=60, on_change=seen.append).result() == {"word": "hello"}
    assert seen[-1].state == "succeeded"
    failing = client.enqueue(ENDING, {"word": "permanent"}, key="another")
    with pytest.raises(JobNotSucceeded, match="no use"):
        client.wait(failing.job_id, timeout_s=60).result()
    fleet.check()


def test_a_transaction_that_commits_makes_one_job_and_one_that_rolls_back_none(
    client: Client, fleet: Fleet, service_url: str
) -> None:
    fleet.worker().ready()
    with psycopg.connect(service_url) as connection:
        sql.enqueue(connection.cursor(), ENDING, {"word": "no"}, org_id=fleet.org, key="k")
        connection.rollback()
        job_id = sql.enqueue(connection.cursor(), ENDING, {"word": "yes"}, org_id=fleet.org, key="k")
    assert client.wait(job_id, timeout_s=60).result() == {"word": "yes"}
    assert fleet.ask("select id from jobs") == [(job_id,)]
    fleet.check()


def test_celery_sends_the_contract_and_gets_the_result(fleet: Fleet) -> None:
    fleet.worker(POSTROOM_RESULTS_URL=fleet.broker_url).ready()
    with Celery("shop", broker=fleet.broker_url, backend=fleet.broker_url, set_as_current=False) as app:
        given: dict[str, Any] = {"org_id": fleet.org, "actor_id": "shop"}
        first = send(app, ENDING, {"word": "hello"}, key="k", priority=3, **given)
        assert first.get(timeout=60) == {"word": "hello"}
        again = send(app, ENDING, {"word": "hello"}, key="k", priority=3, queue="q:default", **given)
        assert again.get(timeout=60) == {"word": "hello"}
        with pytest.raises(TaskError, match=r"payload\.colour"):
            send(app, ENDING, {"colour": "red"}, key="another", **given).get(timeout=60)
    found = fleet.ask("select id, priority, actor_type, actor_id, idempotency_key from jobs")
    assert found == [(UUID(first.id), 3, "api_key", "shop", "k")]
    fleet.check()


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch, gateway: str, api_key: str, fleet: Fleet, service_url: str) -> UUID:
    """The environment of who reads the page, and a workflow of theirs; the id of the org."""
    told = {
        "POSTROOM_URL": gateway,
        "POSTROOM_KEY": api_key,
        "ACCOUNT": str(uuid4()),
        "ORG": str(fleet.org),
        "DATABASE_URL": service_url,
        "SQLALCHEMY_URL": url_of(service_url).render_as_string(hide_password=False),
    }
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    with fleet.client.database.ledger() as tx:
        checked = read(ORDER.encode(), Form.YAML, lambda _: None)
        definitions.save(tx, fleet.org, checked.document, uuid4().bytes * 2, by="ada")
    fleet.worker(options=WITH_WORKFLOWS).ready()
    return fleet.org


def test_the_code_of_the_pages_runs(reader: UUID, fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for number, block in enumerate(PAGE.code("python")):
        names: dict[str, Any] = {}
        exec(compile(block, f"block {number}", "exec"), names)  # noqa: S102 - the page's own code is what is tested
        if "engine" in names:
            names["engine"].dispose()
        printed.append(capsys.readouterr().out)
    (readme,) = README.code("python")
    with pytest.raises(JobNotSucceeded, match=r"gmail\.sync .+ is failed"):
        exec(compile(readme, "README", "exec"), {})  # noqa: S102 - the page's own code is what is tested
    by_http, listed, *_, workflow = printed
    assert by_http.splitlines()[-1].startswith("gone ")
    assert listed.splitlines()[-1] == "['failed']"
    assert workflow.endswith("['paid']\n")
    assert "Job(" in capsys.readouterr().out
    assert {row[0] for row in fleet.ask("select org_id from jobs")} == {reader}
    keys = fleet.ask("select idempotency_key from jobs where job_type = 'gmail.sync' order by 1")
    assert keys == [("import-4711",), ("order-4711",), ("order-4712",)]
    assert fleet.ask("select count(*) from workflow_runs") == [(1,)]
    assert fleet.ask("select number from orders order by 1") == [("4711",), ("4712",)]


def test_every_way_of_the_page_is_a_file_of_the_package() -> None:
    package = Path(ROOT / "clients" / "python")
    named = {span for span in PAGE.spans() if re.fullmatch(r"postroom_client\.\w+", span)}
    assert named
    assert {name for name in named if not (package / f"{name.replace('.', '/')}.py").exists()} == set()
