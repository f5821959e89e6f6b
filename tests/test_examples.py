"""The examples in the documentation run: the tutorial's job, README's job, the ways to enqueue."""

import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection, connect
from psycopg.conninfo import make_conninfo

from domain.jobs.contract import JobContract
from domain.jobs.uniqueness import UniqueMode
from domain.payloads.gmail import SyncPayload
from engine.app import publish_catalogue, register
from engine.catalogue import Job, catalogue
from tests.doubles.mail_environment import MailEnvironment
from tests.house.reading import ROOT
from tests.written_pages import DOCS, Page

TUTORIAL = Page(DOCS / "tutorial" / "first-job.md")
HAND_OVER = Page(DOCS / "howto" / "hand-over-work.md")
README = Page(ROOT / "README.md")
"""Pages whose code is run here."""

OF_THE_READER = "documented"
"""Where the examples' modules stand, so that nobody takes them for families of the fleet."""


def load(family: str, payload: str, handler: str) -> ModuleType:
    """Run an example as the two files of its family; once, for a job type can be registered only once.

    The handler finds its payload class where it would stand, for as long as it takes to import it.
    """
    name = f"{OF_THE_READER}.{family}"
    if name not in sys.modules:
        payloads = run_module(f"{OF_THE_READER}.payloads.{family}", payload)
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, f"domain.payloads.{family}", payloads)
            sys.modules[name] = run_module(name, handler)
        for made in vars(sys.modules[name]).values():
            if isinstance(made, Job):
                register(made)
    return sys.modules[name]


def run_module(name: str, code: str) -> ModuleType:
    """Run code as the module of that name; classes look for it there."""
    sys.modules[name] = module = ModuleType(name)
    exec(compile(code, f"<{name}>", "exec"), vars(module))  # noqa: S102 - the page's own code is what is tested
    return module


def run_plain(code: str) -> dict[str, Any]:
    """Run a piece of code and return its names."""
    names: dict[str, Any] = {}
    exec(compile(code, "<docs>", "exec"), names)  # noqa: S102 - the page's own code is what is tested
    return names


@pytest.mark.parametrize("page", [TUTORIAL, HAND_OVER, README], ids=lambda page: page.name)
def test_the_python_in_the_pages_compiles(page: Page) -> None:
    blocks = page.code("python")
    assert blocks
    for number, block in enumerate(blocks):
        compile(block, f"{page.name}, block {number}", "exec")


def test_the_tutorials_job_counts_what_waits(env: MailEnvironment) -> None:
    payload, handler, test = TUTORIAL.code("python")
    module = load("digests", payload, handler)
    assert isinstance(module.count_waiting, Job)
    assert module.count_waiting.name == "digests.count_waiting"
    publish_catalogue()
    its_test: Callable[[MailEnvironment], None] = run_plain(test)["test_a_draft_that_waits_is_counted"]
    its_test(env)


def test_the_tutorials_job_refuses_a_second_one_while_the_first_is_queued(env: MailEnvironment) -> None:
    payload, handler, _ = TUTORIAL.code("python")
    module = load("digests", payload, handler)
    publish_catalogue()
    assert env.enqueue("digests.count_waiting") == env.enqueue("digests.count_waiting")
    assert module.count_waiting.declared.unique.mode is UniqueMode.WHILE_QUEUED


def test_the_readmes_job_archives_a_thread(env: MailEnvironment) -> None:
    _, payload, handler = README.code("python")
    load("threads", payload, handler)
    assert catalogue.find("threads.archive") is not None
    publish_catalogue()
    place = env.deliver("Lunch", "See you at noon.")
    job_id = env.enqueue("threads.archive", {"thread_id": place.thread_id})
    assert env.run(job_id) == "succeeded"
    assert "INBOX" not in env.mailbox.state().label_names(place.message_id)
    assert env.count("select count(*) from idempotency_keys where kind = 'effect' and status = 'succeeded'") == 1


def test_the_contract_in_the_docs_is_one() -> None:
    names = run_plain(HAND_OVER.code("python")[0])
    account, org = (f"0190a1b2-c3d4-7e5f-8a6b-{number:012}" for number in (1, 2))
    contract = JobContract.parse(names["contract"](account, org))
    assert contract.org_id == UUID(org)
    assert SyncPayload.model_validate(contract.payload).account_id == UUID(account)


def test_a_service_of_its_own_hands_over_work_in_sql(
    env: MailEnvironment, database: Connection, database_url: str
) -> None:
    enqueue, send, grants = HAND_OVER.code("sql")
    database.execute("do $$ begin create role my_service login; exception when duplicate_object then null; end $$")
    database.execute(grants)
    arguments = {"org_id": env.account.org_id, "account_id": str(env.account.account_id)}
    arguments |= {"address": "ada@example.org", "subject": "Hello", "text": "At noon."}
    statement, mail = (
        re.sub(r":([a-z]\w+)", lambda named: f"%({named[1]})s" + ("" if named[1] == "org_id" else "::text"), text)
        for text in (enqueue, send)
    )
    try:
        with connect(make_conninfo(database_url, user="my_service")) as service:
            first, second = (service.execute(statement.encode(), arguments).fetchone() for _ in range(2))
            service.execute(mail.encode(), arguments)
    finally:
        database.execute("drop owned by my_service")
    assert first == second is not None
    assert env.count("select count(*) from jobs where actor_id = 'importer' and job_type = 'gmail.sync'") == 1
    assert env.count("select count(*) from jobs where job_type = 'email.send' and max_attempts = 4") == 1
