"""Alerts: a dead letter, a mailbox without consent and a provider that refuses calls are each told once."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection
from pydantic import SecretStr

from commands.doctor import examine
from domain.jobs.job import SYSTEM_ORG, NewJob, Origin
from domain.orgs.access.users import UserRole
from domain.payloads.notifications import SendPushPayload
from engine.enqueue import enqueue
from sandbox.anthropic.anthropic import anthropic_emulator
from sandbox.discord.discord import discord_emulator
from sandbox.emulator.client import EmulatorControl
from sandbox.emulator.fault_order import FaultOrder
from sandbox.google.gmail import gmail_emulator
from settings import Settings
from storage.jobs import gates, refusals
from storage.orgs.access import users
from storage.orgs.access.users import UserChanges
from tests.doubles.factories import pass_time
from tests.doubles.mail_environment import OWNER, Addresses, MailEnvironment, connect, environment_at

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."


@pytest.fixture
def discord() -> Iterator[EmulatorControl]:
    with discord_emulator() as emulator:
        yield EmulatorControl(emulator.url)


@pytest.fixture
def env(settings: Settings, database: Connection, discord: EmulatorControl) -> Iterator[MailEnvironment]:
    """A mailbox, a model and a process whose alerts go to a channel of Discord."""
    with gmail_emulator() as gmail, anthropic_emulator() as anthropic:
        addresses = Addresses(gmail.url, anthropic.url, discord.url)
        with environment_at(addresses, addresses.settings(settings), database) as made:
            yield made


def look(env: MailEnvironment) -> dict[str, Any]:
    """Let the schedule's job look."""
    query = "select postroom.enqueue('maintenance.raise_alerts', %s, '{}'::jsonb)"
    ((made,),) = env.database.execute(query, (SYSTEM_ORG,)).fetchall()
    env.drain(only="maintenance.raise_alerts")
    output: dict[str, Any] = env.job(UUID(str(made)))["output"]
    return output


def tick(env: MailEnvironment) -> dict[str, Any]:
    """Let the schedule's job look, and deliver what it raised."""
    output = look(env)
    env.drain(only="deadletter.send_alert")
    return output


def die(env: MailEnvironment, times: int = 1) -> None:
    """Let jobs die of payloads that cannot be read."""
    for _ in range(times):
        spoilt = env.enqueue("gmail.ingest", {"message_id": "m", "thread_id": "t"})
        env.database.execute("update jobs set payload = payload || '{\"message_id\": null}' where id = %s", (spoilt,))
        assert env.run(spoilt) == "dead"


def said(discord: EmulatorControl) -> list[str]:
    """The first line of each message, in the order in which they came."""
    return [str(one["content"]).splitlines()[0] for one in discord.get("/_control/messages")["messages"]]


def raised(env: MailEnvironment, kind: str) -> int:
    query = "select count(*) from audit_log where event = 'alert.raised' and data ->> 'kind' = %s"
    return env.count(query, kind)


def lose_consent(env: MailEnvironment) -> None:
    """Let several jobs find out that the owner took consent back."""
    env.mailbox.revoke()
    env.database.execute("update accounts set access_expires_at = now() + interval '1 minute'")
    for kind in ("gmail.sync", "gmail.sync_labels", "gmail.renew_watch"):
        env.enqueue(kind)
    env.drain()


def test_a_dead_letter_is_told_once_however_often_the_schedule_looks(
    env: MailEnvironment, discord: EmulatorControl
) -> None:
    die(env)
    assert [tick(env)["raised"], tick(env)["raised"]] == [1, 0]
    assert said(discord) == ["**A job of type gmail.ingest died**"]
    assert raised(env, "dead_letter") == 1


def test_refused_messages_raise_one_alert_an_hour_that_says_where_to_look(
    env: MailEnvironment, discord: EmulatorControl
) -> None:
    # All of them in one window, wherever the test's own clock stands in it.
    query = "insert into refused_messages (at, task, task_id, field, reason, sealed_content)"
    query += (
        " values (date_bin('1 hour', now(), 'epoch') + interval '1 second', 'a', 'b', 'sk-ant-api03-x', 'is wrong', '')"
    )
    for _ in range(3):
        env.database.execute(query)
    assert [tick(env)["raised"], tick(env)["raised"]] == [1, 0]
    assert said(discord) == ["**A message of a Celery client was refused**"]
    ((content,),) = [[str(one["content"]) for one in discord.get("/_control/messages")["messages"]]]
    assert "jobs refused-content 1" in content
    assert "sk-ant" not in content


def test_a_storm_is_one_alert_and_then_a_number(env: MailEnvironment, discord: EmulatorControl) -> None:
    die(env, times=12)
    # All of them in one window, wherever the test's own clock stands in it.
    env.database.execute("update dead_letters set created_at = date_bin('1 hour', now(), 'epoch')")
    tick(env)
    assert said(discord) == ["**A job of type gmail.ingest died**"]
    env.database.execute("update dead_letters set created_at = created_at - interval '1 hour'")
    discord.reset()
    tick(env)
    # Moved by an hour they are another window's, so their first is told as well.
    assert said(discord) == ["**A job of type gmail.ingest died**", "**12 jobs of type gmail.ingest died**"]
    assert tick(env)["raised"] == 0


def test_an_alert_that_cannot_be_delivered_raises_no_other(env: MailEnvironment, discord: EmulatorControl) -> None:
    die(env)
    look(env)
    discord.order(FaultOrder(operation="webhooks.execute", status=500, times=None))
    ((alert,),) = env.database.execute("select id from jobs where job_type = 'deadletter.send_alert'").fetchall()
    while env.job(alert)["state"] == "queued":
        discord.post("/_control/clock", {"advance_s": 2})
        pass_time(env.database, timedelta(hours=1))
        env.run(alert)
    assert env.job(alert)["state"] == "dead"
    env.drain(only="deadletter.quarantine")
    look(env)
    assert env.count("select count(*) from dead_letters where job_type = 'deadletter.send_alert'") == 1
    assert env.count("select count(*) from jobs where payload ->> 'subject' = 'deadletter.send_alert'") == 0
    (check,) = [one for one in examine(env.process) if one.name == "alerts"]
    assert not check.ok


def test_an_address_that_is_gone_is_given_up_and_the_doctor_says_so(
    env: MailEnvironment, discord: EmulatorControl
) -> None:
    discord.order(FaultOrder(operation="webhooks.execute", status=404, times=None))
    die(env)
    tick(env)
    assert env.count("select count(*) from jobs where job_type = 'deadletter.send_alert' and state = 'failed'") == 1
    (check,) = [one for one in examine(env.process) if one.name == "alerts"]
    assert (check.ok, check.finding) == (False, "1 could not be delivered")


def test_an_answer_that_was_lost_ends_in_a_message_and_one_alert(
    env: MailEnvironment, discord: EmulatorControl
) -> None:
    discord.order(FaultOrder(operation="webhooks.execute", drop="before"))
    die(env)
    tick(env)
    assert said(discord) == ["**A job of type gmail.ingest died**"]
    assert raised(env, "dead_letter") == 1


def test_the_owner_is_told_once_for_each_loss_of_consent(env: MailEnvironment, discord: EmulatorControl) -> None:
    lose_consent(env)
    lose_consent(env)
    assert (raised(env, "consent"), said(discord)) == (1, ["**A mailbox must be connected again**"])
    env.mailbox.consent("access-2", "refresh-2")
    connect(env.process, OWNER, "access-2", "refresh-2")
    with env.process.database.ledger() as tx:
        assert gates.open_gate(tx, "account", str(env.account.account_id))
    env.drain()
    assert env.count("select count(*) from accounts where status = 'active'") == 1
    lose_consent(env)
    lose_consent(env)
    assert raised(env, "consent") == 2
    assert env.count("select count(*) from audit_log where event = 'account.needs_reconsent'") == 2
    assert said(discord) == ["**A mailbox must be connected again**"] * 2


def test_who_runs_the_org_and_the_mailboxs_owner_hear_of_a_lost_consent_though_the_channel_is_gone(
    env: MailEnvironment, discord: EmulatorControl
) -> None:
    env.database.execute("update users set role = 'member'")
    with env.process.database.ledger() as tx:
        for role in (UserRole.ADMIN, UserRole.APPROVER):
            users.add(tx, env.account.org_id, f"{role}@postroom.example", UserChanges(role))
    discord.order(FaultOrder(operation="webhooks.execute", status=404, times=None))
    lose_consent(env)
    lose_consent(env)
    assert inboxes(env) == [
        ("admin", "A mailbox must be connected again"),
        ("member", "A mailbox must be connected again"),
    ]


def test_who_runs_the_org_hears_of_its_dead_jobs_once_a_day_and_type(env: MailEnvironment) -> None:
    die(env, times=3)
    with env.process.database.ledger() as tx:
        unknown = NewJob(
            "who.knows",
            env.account.org_id,
            {},
            1,
            uuid4(),
            origin=Origin(request_id="r", correlation_id="c"),
            idempotency_key="k",
        )
        refusals.write_dead_letter(tx, unknown)
    env.drain()
    assert inboxes(env) == [("owner", "A job of type gmail.ingest died")]
    assert env.count("select count(*) from jobs where job_type = 'deadletter.quarantine' and state = 'succeeded'") == 4


def test_a_notification_that_died_is_told_by_no_other(env: MailEnvironment) -> None:
    push = SendPushPayload(delivery_id=uuid4())
    with env.process.database.ledger() as tx:
        made = enqueue(tx, push, org_id=env.account.org_id)[0].job_id
    env.database.execute("update jobs set payload = payload || '{\"delivery_id\": null}' where id = %s", (made,))
    assert env.run(made) == "dead"
    env.drain()
    assert inboxes(env) == []


def inboxes(env: MailEnvironment) -> list[tuple[str, str]]:
    """Who was told what in the app, by role."""
    query = "select u.role, i.title from inbox_items i join users u on u.id = i.user_id order by 1, 2"
    return [(str(role), str(title)) for role, title in env.database.execute(query).fetchall()]


@pytest.mark.parametrize(("status", "kind"), [(401, "authentication_error"), (402, "billing_error")])
def test_a_refused_key_and_spent_credit_park_the_provider_and_are_told(
    env: MailEnvironment, discord: EmulatorControl, status: int, kind: str
) -> None:
    env.model.order(FaultOrder(operation="messages.create", status=status, reason=kind, times=None))
    place = env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    for _ in range(4):
        row = env.database.execute(
            "select id from jobs where state = 'queued' and run_at <= now() order by id limit 1"
        ).fetchone()
        if row is None:
            break
        env.run(row[0])
    ((scope, key),) = env.database.execute("select scope, key from gates").fetchall()
    assert (scope, key) == ("provider", "anthropic")
    tick(env)
    tick(env)
    assert said(discord) == ["**Provider anthropic refuses calls**"]
    (check,) = [one for one in examine(env.process) if one.name == "providers"]
    assert (check.ok, check.finding.startswith("anthropic until")) == (False, True)
    env.model.clear_faults()
    pass_time(env.database, timedelta(hours=2))
    env.drain()
    assert env.email(place.thread_id).state.value != "pending"


def test_without_an_address_an_alert_is_audited_and_logged_only(env: MailEnvironment, discord: EmulatorControl) -> None:
    env.process.settings = env.process.settings.model_copy(update={"alert_url": SecretStr("")})
    die(env)
    tick(env)
    assert (raised(env, "dead_letter"), said(discord)) == (1, [])
