"""Pages by hand of runs, mailboxes, questions and schedules: what they say, and where their buttons lead."""

import re
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from html import unescape
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.mail.actions.label_actions import Star
from domain.mail.actions.requested_action import Delete
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.classification import Classification, Decision, DecisionSource
from domain.mail.triage.safety import CheckedAction, SafetyEnforcer
from domain.orgs.access.operators import OperatorRole
from engine.enqueue import enqueue
from engine.runtime import Runtime
from operations.jobs.schedules import add_schedule, pause_schedule
from storage.approvals import approvals
from storage.mail import decisions
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from storage.mail.decisions import Origins
from storage.postgres.database import Database
from tests.doubles import probe_jobs  # noqa: F401 - its job types are what the schedules name
from tests.doubles.calls import call_by
from tests.doubles.mail_factories import make_account, store_message
from tests.gateway.console.conftest import SignIn
from tests.gateway.console.signed import SignedBrowser
from tests.workflows.workflow_jobs import BROKEN
from tests.workflows.workflow_runs import Workflows

BRIEF = {
    "name": "brief",
    "nodes": {
        "first": {"job": "workflow_jobs.echo", "with": {"value": "secret-value", "word": "first"}},
        "go": {"wait": {"event": "go"}, "needs": ["first"]},
        "ask": {"wait": {"approval": "Publish it?"}, "needs": ["first"]},
        "last": {"job": "workflow_jobs.echo", "needs": ["go", "ask"], "with": {"value": "x", "word": "last"}},
    },
}


@pytest.fixture(autouse=True)
def _nothing_is_broken() -> Iterator[None]:
    yield
    BROKEN.clear()


@pytest.fixture
def flows(process: Runtime, database: Connection, org: UUID) -> Workflows:
    return Workflows(process, database, org)


@pytest.fixture
def account(store: Database, process: Runtime) -> Account:
    assert process.database is not None
    account = make_account(store)
    store_message(store, account)
    return account


def order(store: Database, account: Account, status: ActionStatus) -> UUID:
    """An action on the account's stored message; one that waits is asked about."""
    action = Delete() if status is ActionStatus.APPROVED_PENDING else Star()
    checked = CheckedAction(action, status, type(action).danger, ("it is dangerous",))
    with store.ledger() as tx:
        made = actions.request(tx, account.account_id, "m1", checked, requested_by="anna")
        if status is ActionStatus.APPROVED_PENDING:
            of_org = partial(enqueue, org_id=account.org_id)
            approvals.request(tx, account.account_id, [made], of_org, lasts=timedelta(days=1))
    return made


def decided(store: Database, account: Account) -> UUID:
    """An action that the model's decision led to, and that waits for a person."""
    decision = Decision(DecisionSource.LLM, Classification.FYI, 0.8, "it asks for it", actions=(Delete(),))
    with store.ledger() as tx:
        checked = SafetyEnforcer().check(decision)
        origins = Origins(model="a-model")
        made = decisions.record(tx, account.account_id, "m1", decision, actions=checked, origins=origins).answer
        of_org = partial(enqueue, org_id=account.org_id)
        approvals.request(tx, account.account_id, made.action_ids, of_org, lasts=timedelta(days=1))
    return made.action_ids[0]


def end(database: Connection, action_id: UUID) -> None:
    """Let an action have been done."""
    began = "update actions set state = 'executing', started_at = now(), job_id = uuidv7() where id = %s"
    database.execute(began, (action_id,))
    hint = '{"action": "star", "inverse_action": "unstar", "irreversible": false}'
    done = "update actions set state = 'done', finished_at = now(), undo_hint = %s where id = %s"
    database.execute(done, (hint, action_id))


def hrefs(text: str) -> list[str]:
    return [unescape(one) for one in re.findall(r'href="(/console/[^"]+)"', text)]


def test_a_run_is_drawn_with_its_nodes_as_links_and_says_what_it_waits_for(
    admin: SignedBrowser, flows: Workflows
) -> None:
    flows.save(BRIEF)
    run_id = flows.start("brief")
    flows.drain()
    text = admin.text(f"/workflows/show?run_id={run_id}")
    assert 'class="node succeeded"' in text
    assert "data-watch" in text
    assert "go waits for the event go" in text
    assert "ask asks a person" in text
    links = hrefs(text)
    for way in ("signal", "cancel", "resume"):
        assert any(one.startswith(f"/console/workflows/{way}?run_id={run_id}") for one in links), way
    (first,) = {one for one in links if "node=first" in one}
    node = admin.text(first.removeprefix("/console"))
    assert "secret-value" not in node
    assert "text(12)" in node
    shown = admin.text(f"{first.removeprefix('/console')}&show_values=yes")
    assert ("secret-value" in shown, "data-watch" in shown) == (True, False)


def test_a_failed_run_says_why_and_is_live_no_more(admin: SignedBrowser, flows: Workflows) -> None:
    flows.save({"name": "short", "nodes": {"one": {"job": "workflow_jobs.echo", "with": {"value": 1, "word": "one"}}}})
    BROKEN.add("one")
    run_id = flows.finish("short")
    text = admin.text(f"/workflows/show?run_id={run_id}")
    assert "Resume does again what failed" in text
    assert "data-watch" not in text
    assert "no node nothing" in admin.text(f"/workflows/show?run_id={run_id}&node=nothing", 404)


def test_a_mailbox_says_how_it_is_and_what_was_done_with_the_undo_of_each(
    admin: SignedBrowser, store: Database, account: Account, database: Connection
) -> None:
    order(store, account, ActionStatus.APPROVED_PENDING)
    done = order(store, account, ActionStatus.QUEUED)
    end(database, done)
    database.execute("update accounts set watch_expires_at = now() + interval '3 hours', watch_renewed_at = now()")
    text = admin.text(f"/accounts/show?account_id={account.account_id}")
    assert "expires in 3 h" in text or "expires in 2 h" in text
    assert "1 action<" in text
    assert "Gates" in text
    undo = [one for one in hrefs(text) if "/actions/undo" in one]
    assert undo == [f"/console/actions/undo?action_id={done}&of_org={account.org_id}"]
    for way in ("sync", "renew-watch"):
        path = f"/accounts/{way}?account_id={account.account_id}&of_org={account.org_id}"
        assert f"/console{path}" in hrefs(text), way
    asked = {"account_id": account.account_id, "of_org": account.org_id, "confirmed": "yes"}
    for way, job_type in (("sync", "gmail.sync"), ("renew-watch", "gmail.renew_watch")):
        assert admin.post(f"/accounts/{way}", asked).status in {200, 303}
        found = database.execute("select count(*) from jobs where job_type = %s", (job_type,)).fetchone()
        assert found == (1,)


def test_the_mailbox_of_nothing_says_so(admin: SignedBrowser, account: Account) -> None:
    text = admin.text(f"/accounts/show?account_id={account.account_id}")
    assert "Nothing yet today" in text
    assert "none: mail is found by looking" in text


def test_a_question_is_shown_with_shapes_and_decided_with_a_reason(
    admin: SignedBrowser, sign_in: SignIn, store: Database, account: Account, database: Connection
) -> None:
    asked = decided(store, account)
    path = f"/approvals/show?approval_id={asked}&of_org={account.org_id}"
    text = admin.text(path)
    assert "me@example.com" not in text.replace("&#64;", "@")
    assert "it is never executed" in text
    assert "Approve" in text
    values = admin.text(f"{path}&show_values=yes")
    assert "me@example.com" in values
    for evidence in ("llm (a-model)", "fyi", "80%", "it asks for it"):
        assert evidence in values, evidence
    assert ("80%" in text, "it asks for it" in text) == (True, False)
    looks = database.execute("select count(*) from audit_entries where event = 'operator.looked'").fetchone()
    assert looks == (1,)
    assert "Approve" not in sign_in(OperatorRole.SUPPORT).text(path)
    form = {"approval_id": asked, "of_org": account.org_id, "reason": "not now"}
    assert b"What will happen" in admin.post("/approvals/deny", form).body
    assert b"not now" in admin.post("/approvals/deny", form | {"confirmed": "yes"}).body
    assert "Approve" not in admin.text(path)


def test_schedules_are_said_in_words_with_their_next_runs_and_run_now(
    admin: SignedBrowser, store: Database, org: UUID, database: Connection
) -> None:
    assert "No schedule is kept" in admin.text("/schedules")
    call = call_by("ada", store, org_id=org)
    add_schedule(call, "nightly", job_type="probe_jobs.noop", cron="30 2 * * *", zone="Europe/Berlin")
    add_schedule(call, "off", job_type="probe_jobs.noop", cron="*/5 * * * *")
    pause_schedule(call, "off")
    # The night in which Berlin's clocks go back.
    database.execute("update schedules set next_run_at = '2027-10-30 00:30Z' where name = 'nightly'")
    text = admin.text(f"/schedules?of_org={org}")
    assert "at 02:30, each day" in text
    for run in ("Sat 30 Oct 02:30 CEST", "Sun 31 Oct 02:30 CEST", "Mon 01 Nov 02:30 CET"):
        assert run in text
    assert "2027-11-01 01:30 UTC" in text
    assert "none while it does not run" in text
    assert f"/console/schedules/run?name=nightly&of_org={org}" in hrefs(text)
    done = admin.post("/schedules/run", {"name": "off", "of_org": org, "confirmed": "yes"})
    assert (done.status, b"What will happen" in done.body, b"probe_jobs.noop" in done.body) == (200, False, True)
    found = database.execute("select actor_type, org_id from jobs where job_type = 'probe_jobs.noop'").fetchall()
    assert found == [("user", org)]


def test_what_is_not_there_is_said_to_be_so(admin: SignedBrowser) -> None:
    for path in ("workflows/show?run_id=", "approvals/show?approval_id=", "accounts/show?account_id="):
        assert "there is no" in admin.text(f"/{path}{uuid4()}", 404)
        assert "name the" in admin.text(f"/{path}", 422)
