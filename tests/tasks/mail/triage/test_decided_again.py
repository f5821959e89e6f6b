"""A message that is classified again by force: what its person refused stays refused, and is asked only once."""

from dataclasses import replace
from uuid import UUID

import pytest

from domain.mail.actions.status import ActionStatus
from domain.mail.rule_language.rules import parse_rule
from domain.mail.triage.prompts import CLASSIFY_TOOL
from domain.orgs.access.api_keys import Role
from domain.payloads.triage import ClassifyPayload
from engine.enqueue import enqueue
from sandbox.emulator.control import MessagePlace
from storage.mail.actions import actions
from storage.mail.rules import rules
from tests.doubles.factories import make_org
from tests.doubles.mail_actions import actions_of, ask, decided_by_rule, labels, stored_letter, undo
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import Meanwhile
from tests.doubles.outgoing_orders import FORWARD, approve
from tests.gateway.api.conftest import client_of
from tests.gateway.serving import serve
from tests.tasks.mail.accounts.test_account_ends import connect, disconnect, know_owner, leave

FOR_GOOD: dict[str, object] = {"kind": "delete"}
"""A person is always asked about it."""

DELETED_BY_RULE = parse_rule(
    {
        "rule_id": "x",
        "name": "Anna",
        "when": {"from": "anna@example.com"},
        "then": {"actions": ["delete"]},
    }
)
"""The class is the model's to find."""


def classify_again(env: MailEnvironment, place: MessagePlace) -> dict[str, object]:
    job_id = env.enqueue("triage.classify", {"message_id": place.message_id, "force": True})
    assert env.run(job_id) == "succeeded", env.job(job_id)
    env.drain(only="actions.%")
    output: dict[str, object] = env.job(job_id)["output"]
    return output


def test_what_its_person_took_back_is_not_done_again(env: MailEnvironment) -> None:
    place = decided_by_rule(env, {"kind": "archive"}, {"kind": "star"})
    archived, starred = actions_of(env, place)
    assert "INBOX" not in labels(env, place)
    undo(env, archived.action_id)
    output = classify_again(env, place)
    assert output["left_out"] == [{"kind": "archive", "why": "its person took it back"}]
    assert labels(env, place) >= {"INBOX", "STARRED"}
    again = [one for one in actions_of(env, place) if one.action_id not in {archived.action_id, starred.action_id}]
    assert sorted((str(one.kind), str(one.state)) for one in again) == [("star", "done"), ("undo", "done")]


def test_what_its_person_denied_is_not_asked_again(env: MailEnvironment) -> None:
    place = decided_by_rule(env, FOR_GOOD)
    (asked,) = actions_of(env, place)
    with env.process.database.ledger() as tx:
        assert actions.decide(tx, asked.action_id, ActionStatus.DENIED, approver="user: anna")
    assert classify_again(env, place)["left_out"] == [{"kind": "delete", "why": "its person has denied it"}]
    assert len(actions_of(env, place)) == 1


@pytest.mark.parametrize("is_same", [True, False])
def test_what_its_person_refused_is_refused_after_the_mailbox_was_connected_again(
    env: MailEnvironment, *, is_same: bool
) -> None:
    """Twice, so that a connection without a word of its own lies between. Another Google user has refused nothing."""
    know_owner(env)
    place = decided_by_rule(env, {"kind": "archive"}, FOR_GOOD)
    archived, asked = actions_of(env, place)
    undo(env, archived.action_id)
    with env.process.database.ledger() as tx:
        assert actions.decide(tx, asked.action_id, ActionStatus.DENIED, approver="user: anna")
        (rule,) = rules.of_account(tx, env.account.account_id).answer.rules
    before = actions_of(env, place)
    for _ in range(2 if is_same else 1):
        env.account = connect(env, replace(disconnect(env), subject="117" if is_same else "118"))
        if not is_same:
            with env.process.database.ledger() as tx:
                rules.add(tx, env.account.org_id, rule, account_id=env.account.account_id)
        env.sync()
        env.drain()
        decided = [one for one in actions_of(env, place) if one not in before]
        assert sorted((str(one.kind), str(one.state)) for one in decided) == (
            [] if is_same else [("archive", "done"), ("delete", "approved_pending")]
        )
        assert ("INBOX" in labels(env, place)) is is_same


def test_what_waited_in_a_closed_account_is_no_job_that_does_it_already(env: MailEnvironment) -> None:
    know_owner(env)
    place = decided_by_rule(env, FOR_GOOD)
    (asked,) = actions_of(env, place)
    approve(env, asked.action_id)
    env.account = connect(env, leave(env))
    assert "left_out" not in classify_again(env, place)
    assert [str(one.state) for one in actions_of(env, place)] == ["canceled", "approved_pending"]


def test_an_approval_that_waits_is_superseded_by_the_newer_one(env: MailEnvironment) -> None:
    place = decided_by_rule(env, FOR_GOOD)
    (first,) = actions_of(env, place)
    assert "left_out" not in classify_again(env, place)
    earlier, newer = actions_of(env, place)
    assert (earlier.action_id, earlier.state) == (first.action_id, ActionStatus.CANCELED)
    assert (earlier.error or {})["code"] == "action.superseded"
    assert newer.state is ActionStatus.APPROVED_PENDING
    shown = "select payload ->> 'approval_id' from jobs where job_type = 'approvals.show_outcome'"
    assert [row[0] for row in env.database.execute(shown)] == [str(first.action_id)]


def test_an_approval_whose_rule_is_gone_is_superseded_by_nothing(env: MailEnvironment) -> None:
    place = decided_by_rule(env, FOR_GOOD)
    env.database.execute("delete from rules")
    classify_again(env, place)
    assert [one.state for one in actions_of(env, place)] == [ActionStatus.CANCELED]


@pytest.mark.parametrize("released", [True, False], ids=["approved", "asked for by name"])
def test_what_is_under_way_or_another_s_is_left_alone(env: MailEnvironment, *, released: bool) -> None:
    place = decided_by_rule(env, FOR_GOOD) if released else decided_by_rule(env)
    if released:
        (asked,) = actions_of(env, place)
        approve(env, asked.action_id)
        output = classify_again(env, place)
        assert output["left_out"] == [{"kind": "delete", "why": "it is approved by an earlier decision"}]
        assert [one.state for one in actions_of(env, place)] == [ActionStatus.APPROVED]
        return
    named: UUID = ask(env, place, FORWARD, ActionStatus.APPROVED_PENDING)
    classify_again(env, place)
    (still,) = (one for one in actions_of(env, place) if one.action_id == named)
    assert still.state is ActionStatus.APPROVED_PENDING


def test_two_first_decisions_at_once_ask_a_person_once(env: MailEnvironment, meanwhile: Meanwhile) -> None:
    """A caller's key makes a job of its own, beside the sync's: both read that nobody has decided."""
    with env.process.database.ledger() as tx:
        rules.add(tx, env.account.org_id, DELETED_BY_RULE, account_id=env.account.account_id)
    place = stored_letter(env)
    first = env.enqueue("triage.classify", {"message_id": place.message_id})
    with env.process.database.ledger() as tx:
        payload = ClassifyPayload(account_id=env.account.account_id, message_id=place.message_id, force=True)
        (other,) = enqueue(tx, payload, org_id=env.account.org_id, idempotency_key="a caller's")
    assert other.job_id != first
    meanwhile(CLASSIFY_TOOL, lambda: env.run(other.job_id))
    env.drain(only="triage.%")
    waiting = [one for one in actions_of(env, place) if one.state is ActionStatus.APPROVED_PENDING]
    assert len(waiting) == 1, actions_of(env, place)


def test_a_service_asks_for_it_over_http(env: MailEnvironment) -> None:
    """Which messages there are, another org does not learn."""
    place = stored_letter(env)
    env.drain()
    before = env.count("select count(*) from decisions")
    path = f"/v1/accounts/{env.account.account_id}/messages/{{}}/reclassify"
    other_org = make_org(env.database, "another org")
    with serve(env.process.settings) as url:
        client = client_of(env.process.database, url, env.account.org_id, Role.WRITER)
        first, second = (client.post(path.format(place.message_id), None, {"Idempotency-Key": "k"}) for _ in range(2))
        assert client.post(path.format("unknown")).status == 404
        assert client.post(path.format("a.b")).json["field"] == "message_id"
        stranger = client_of(env.process.database, url, other_org, Role.OPERATOR)
        assert stranger.post(path.format(place.message_id)).status == 404
        assert client_of(env.process.database, url, env.account.org_id, Role.READER).post(path).status == 403
    assert (first.status, first.json["created"], second.json) == (202, True, first.json | {"created": False})
    job = env.job(UUID(first.json["job_id"]))
    assert (job["job_type"], job["payload"]["force"], job["actor_id"]) == ("triage.classify", True, str(client.key_id))
    assert env.run(UUID(first.json["job_id"])) == "succeeded"
    assert env.count("select count(*) from decisions") == before + 1
