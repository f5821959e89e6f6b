"""A job that would exceed a limit waits behind a gate: nothing is sent, no attempt used, its kin need not find out."""

from uuid import UUID

import pytest
from redis import Redis

from engine.app import publish_catalogue
from sandbox.emulator.control import MessagePlace
from settings import Settings
from tests.doubles import probe_jobs
from tests.doubles.mail_environment import MailEnvironment, connect

LIMIT = 45
"""Two messages' worth of Gmail's units, and a little."""


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    return settings.model_copy(update={"rate_limits": getattr(request, "param", {"gmail.user": LIMIT})})


def ingest(env: MailEnvironment, account_id: UUID, place: MessagePlace) -> UUID:
    return env.enqueue(
        "gmail.ingest",
        {"account_id": str(account_id), "message_id": place.message_id, "thread_id": place.thread_id},
    )


def test_an_account_over_its_limit_waits_and_another_does_not(env: MailEnvironment) -> None:
    messages = [env.deliver(f"Letter {number}", "Hello.") for number in range(4)]
    neighbour = env.gmail.create_account("neighbour@postroom.example", "access-n", "refresh-n")
    other = connect(env.process, "neighbour@postroom.example", "access-n", "refresh-n").account_id
    theirs = neighbour.deliver(b"Subject: For the neighbour\r\n\r\nHello.")
    jobs = [ingest(env, env.account.account_id, message) for message in messages]
    assert [env.run(job_id) for job_id in jobs] == ["succeeded", "succeeded", "queued", "not_claimed"]
    assert len(env.gmail.journal("messages.get")) == 2
    assert [env.job(job_id)["attempt"] for job_id in jobs] == [1, 1, 0, 0]
    gates = env.database.execute("select scope, key from gates").fetchall()
    assert gates == [("account", str(env.account.account_id))]
    assert env.run(ingest(env, other, theirs)) == "succeeded"


def test_the_waiting_go_on_when_the_window_has_room_again(env: MailEnvironment) -> None:
    messages = [env.deliver(f"Letter {number}", "Hello.") for number in range(3)]
    jobs = [ingest(env, env.account.account_id, message) for message in messages]
    assert [env.run(job_id) for job_id in jobs] == ["succeeded", "succeeded", "queued"]
    url = env.process.settings.broker_url.get_secret_value()
    with Redis.from_url(url) as client:
        windows = list(client.scan_iter("postroom:limits:*"))
        assert windows
        client.delete(*windows)
    assert ("gmail.ingest", "succeeded") in env.drain(only="gmail.%")
    assert env.job(jobs[2])["attempt"] == 1


@pytest.mark.parametrize("settings", [{"anthropic.requests": 1}], indirect=True)
def test_the_models_limit_closes_the_model_and_costs_nothing(env: MailEnvironment) -> None:
    publish_catalogue()
    jobs = [env.enqueue(probe_jobs.asking.name, {}) for _ in range(3)]
    assert [env.run(job_id) for job_id in jobs] == ["succeeded", "queued", "not_claimed"]
    assert len(env.model.journal("messages.create")) == 1
    assert env.database.execute("select scope, key from gates").fetchall() == [("provider", "anthropic")]
    cost = env.job(jobs[0])["output"]["cost"]
    days = env.database.execute("select spent_microcents, reserved_microcents from budget_days").fetchall()
    assert days == [(cost, 0)]
