"""Links that decide without signing in: scanners change nothing, one decision counts, no other link leads anywhere."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.approvals.links import DecisionLink
from domain.mail.actions.requested_action import Delete
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.safety import CheckedAction
from domain.orgs.access.users import UserRole
from engine.enqueue import enqueue
from engine.runtime import Runtime
from settings import Settings
from storage.approvals import approvals
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from storage.orgs.access import users
from storage.orgs.access.users import UserChanges
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Database
from tests.doubles.mail_factories import make_account, store_message
from tests.doubles.workflows.asking_nodes import asking_node
from tests.gateway.serving import HttpAnswer, ask, serve

APPROVE, DENY = b"choice=approve&reason=", b"choice=deny&reason=not+now"
Ask = Callable[..., UUID]


def waiting(store: Database, account: Account, lasts: timedelta = timedelta(days=1)) -> UUID:
    checked = CheckedAction(Delete(), ActionStatus.APPROVED_PENDING, Delete.danger, ("delete is dangerous",))
    with store.ledger() as tx:
        made = actions.request(tx, account.account_id, "m1", checked, requested_by="a test")
        approvals.request(tx, account.account_id, [made], partial(enqueue, org_id=account.org_id), lasts=lasts)
    return made


def asked(store: Database, account: Account, lasts: timedelta = timedelta(days=1)) -> UUID:
    return asking_node(store, account.org_id, show="<b>12</b> words", lasts=lasts)


SUBJECTS = pytest.mark.parametrize("subject", [waiting, asked], ids=["action", "node"])


@pytest.fixture
def account(store: Database, process: Runtime) -> Account:
    """A mailbox with one stored message."""
    assert process.database is not None
    account = make_account(store)
    store_message(store, account)
    return account


@pytest.fixture
def door(settings: Settings, account: Account) -> Iterator[str]:
    assert account
    with serve(settings) as url:
        yield url


@pytest.fixture
def sign(settings: Settings, door: str) -> Callable[[DecisionLink], str]:
    """The address of a link at the test's gateway."""
    return lambda link: link.address(door, Sealer.of(settings).sign)


Sign = Callable[[DecisionLink], str]


def person(store: Database, org_id: UUID, role: UserRole = UserRole.APPROVER) -> UUID:
    with store.ledger() as tx:
        return users.add(tx, org_id, f"{role}-{uuid4()}@example.org", UserChanges(role)).user_id


def press(url: str, form: bytes) -> HttpAnswer:
    return ask(url, form, {"Content-Type": "application/x-www-form-urlencoded"})


def decisions(database: Connection) -> list[tuple[str, str]]:
    return database.execute(
        "select event, actor_id from audit_entries where event in ('approval.approved', 'approval.denied') order by id"
    ).fetchall()


@SUBJECTS
def test_a_scanner_changes_nothing_and_of_the_persons_presses_one_counts(
    store: Database, account: Account, database: Connection, sign: Sign, subject: Ask
) -> None:
    anna = person(store, account.org_id)
    url = sign(DecisionLink(subject(store, account), anna))
    for _ in range(3):
        answer = ask(url)
        assert (answer.status, b'value="approve"' in answer.body) == (200, True)
        assert b"<b>" not in answer.body
        assert (press(url, b"").status, press(url, b"choice=both").status) == (200, 200)
    assert decisions(database) == []
    assert press(url, DENY).status == 200
    assert [press(url, APPROVE).status, ask(url).status] == [409, 409]
    assert decisions(database) == [("approval.denied", f"link:{anna}")]
    reasons = database.execute("select data ->> 'reason' from audit_entries where event = 'approval.denied'").fetchall()
    assert reasons == [("not now",)]


@SUBJECTS
def test_a_link_proves_its_person_whose_role_is_looked_up_anew(
    store: Database, account: Account, database: Connection, sign: Sign, subject: Ask
) -> None:
    made, other = subject(store, account), make_account(store, org="another org", email="you@example.com")
    member = person(store, account.org_id, UserRole.MEMBER)
    assert press(sign(DecisionLink(made, member)), APPROVE).status == 409
    stranger, erased = person(store, other.org_id, UserRole.OWNER), person(store, account.org_id)
    database.execute("update users set erasing_since = now() where id = %s", (erased,))
    assert ask(sign(DecisionLink(made, erased))).status == 404
    for nobody in (stranger, erased, uuid4()):
        assert press(sign(DecisionLink(made, nobody)), APPROVE).status == 404
    assert decisions(database) == []
    why = database.execute("select data ->> 'why' from audit_entries where event = 'approval.refused' order by id")
    assert why.fetchall() == [("not_an_approver",), *[("not_here",)] * 3]


@SUBJECTS
def test_a_link_that_nobody_signed_or_that_is_too_late_decides_nothing(
    store: Database, account: Account, database: Connection, sign: Sign, door: str, subject: Ask
) -> None:
    made, anna, bob = subject(store, account), person(store, account.org_id), person(store, account.org_id)
    link = DecisionLink(made, anna)
    url = sign(link)
    forged = [
        url[:-2], f"{url}00", url.replace("sig=", "sig=zz"), url.replace(str(anna), str(bob)),
        url.replace(str(made), str(subject(store, account))), f"{door}/d/{made}", f"{door}/d/%00?person=x&sig=y",
        sign(replace(link, approval_id=uuid4())),
    ]  # fmt: skip
    assert {(ask(one).status, press(one, APPROVE).status) for one in forged} == {(404, 404)}
    late = sign(DecisionLink(subject(store, account, lasts=timedelta(0)), anna))
    assert (ask(late).status, press(late, APPROVE).status) == (409, 409)
    assert decisions(database) == []


def test_a_link_is_good_for_one_round_of_its_node(
    store: Database, account: Account, database: Connection, sign: Sign
) -> None:
    made = asked(store, account)
    url = sign(DecisionLink(made, person(store, account.org_id)))
    again = "update workflow_nodes set approval_id = uuidv7(), round = 2 where approval_id = %s"
    database.execute(again, (made,))
    assert press(url, APPROVE).status == 404
    assert decisions(database) == []
