"""A person rules that an effect happened, and does not say what it gave: its job ends clearly, whichever it is."""

from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import Connection
from psycopg.types.json import Jsonb

from domain.jobs.effects import Strategy
from domain.jobs.failures import Gone
from domain.jobs.job import ClaimedJob, Origin
from engine.worker.runner import Bug
from operations.jobs import replays
from settings import Settings
from storage.approvals import rulings
from storage.jobs import effects
from storage.jobs.effects import Intent
from storage.mail import outgoing_mails
from storage.postgres.database import Transaction
from tests.doubles.mail_environment import MailEnvironment, environment_at
from tests.doubles.meanwhile import once_after
from tests.doubles.outgoing_orders import action_of, approved, order, taken_in
from tests.sweep.outside import Outside, running_outside
from tests.sweep.scenarios import SCENARIOS, Scenario

TYPES = (
    "actions.execute",
    "actions.undo",
    "agents.process",
    "approvals.notify",
    "drafts.rework",
    "drafts.write",
    "email.send",
    "notifications.send_email",
    "notifications.send_push",
    "notifications.send_sms",
    "outbound.send",
    "triage.classify",
)
"""Types that cause effects."""
TABLE = [Scenario(name, variant, prepare) for name in TYPES for variant, prepare in SCENARIOS[name].items()]


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    with running_outside() as made:
        yield made


@pytest.fixture
def everywhere(outside: Outside, settings: Settings, database: Connection) -> Iterator[MailEnvironment]:
    """An environment with all providers."""
    outside.reset()
    addresses = outside.addresses()
    with environment_at(addresses, addresses.settings(settings), database) as env:
        yield env


def rule(env: MailEnvironment, key: str, **result: object) -> None:
    with env.process.database.ledger() as tx:
        rulings.rule(tx, env.account.org_id, key, happened=True, result=result)


def rule_when_begun(env: MailEnvironment, monkeypatch: pytest.MonkeyPatch, number: int) -> list[str]:
    """Let each effect from this one on be ruled to have happened before the job comes to it; returns their keys."""
    real, begun, ruled = effects.begin_effect, list[str](), list[str]()

    def begin(tx: Transaction, job: ClaimedJob, key: str, strategy: Strategy, **given: Any) -> Intent:  # noqa: ANN401 - as they are
        if key not in begun:
            begun.append(key)
            if len(begun) > number:
                env.database.execute(
                    "insert into idempotency_keys"
                    " (org_id, key, kind, mode, status, job_id, owner_token, expires_at, error_ref)"
                    " values (%s, %s, 'effect', %s, 'unknown', %s, %s, now() + interval '1 day', %s)",
                    (job.org_id, key, strategy.value, job.job_id, job.token, Jsonb({"code": "uncertain"})),
                )
                rule(env, key)
                ruled.append(key)
        return real(tx, job, key, strategy, **given)

    monkeypatch.setattr(effects, "begin_effect", begin)
    return ruled


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("scenario", TABLE, ids=str)
def test_a_ruling_without_a_result_has_a_clear_end(
    everywhere: MailEnvironment, monkeypatch: pytest.MonkeyPatch, scenario: Scenario, number: int
) -> None:
    env = everywhere
    job_id = scenario.prepare(env)
    rule_when_begun(env, monkeypatch, number)
    ending = env.run(job_id)
    error = env.job(job_id)["error"] or {}
    if ending == "dead":
        assert error["code"] == "uncertain", error
        assert "rule it once more, with --result" in error["reason"]
    else:
        assert ending in {"succeeded", "queued", "failed"}
        assert error.get("code") != Bug.code, error


def test_a_second_ruling_with_the_result_mends_it(everywhere: MailEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    env = everywhere
    job_id = SCENARIOS["notifications.send_push"]["planned"](env)
    ruled = rule_when_begun(env, monkeypatch, 0)
    assert env.run(job_id) == "dead"
    assert "lacks provider_id" in env.job(job_id)["error"]["reason"]
    (key,) = ruled
    rule(env, key, provider_id="found at FCM")
    with env.process.database.ledger() as tx, pytest.raises(Gone):
        rulings.rule(tx, env.account.org_id, key, happened=False, result={})
    with env.process.database.ledger() as tx:
        again = replays.retry(tx, job_id, by=Origin(actor_id="a test"), reason="its id was found")
    assert env.run(again) == "succeeded"
    assert env.count("select count(*) from deliveries where provider_id = 'found at FCM'") == 1


@pytest.mark.parametrize("was_sent", [True, False])
def test_a_mail_is_looked_for_that_a_person_says_has_left(
    env: MailEnvironment, monkeypatch: pytest.MonkeyPatch, *, was_sent: bool
) -> None:
    place = taken_in(env)
    action_id = approved(env, place.message_id)
    job_id = order(env, place, action_id)
    rule_when_begun(env, monkeypatch, 1)

    def send_by_hand() -> None:
        (draft,) = env.mailbox.state().drafts
        env.mailbox.send_draft(draft["draft_id"])

    if was_sent:
        once_after(monkeypatch, outgoing_mails, "record_draft", send_by_hand)
    assert env.run(job_id) == ("succeeded" if was_sent else "dead")
    assert (action_of(env, action_id).sent_message_id is not None) is was_sent
    if not was_sent:
        assert "lacks sent" in env.job(job_id)["error"]["reason"]
