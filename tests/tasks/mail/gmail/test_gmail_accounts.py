"""Tokens: one refresh per account, a refused token, consent that is gone and comes back (docs: google-oauth.md)."""

from collections.abc import Iterator
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from typing import Any
from uuid import UUID

import pytest

from engine.catalogue import catalogue
from engine.runtime import Runtime, install
from engine.worker.lease import renew
from settings import Settings
from storage.jobs import gates
from storage.mail.accounts import tokens
from storage.mail.accounts.tokens import Tokens
from tests.doubles.factories import pass_time
from tests.doubles.inline_worker import run_job
from tests.doubles.mail_environment import OWNER, MailEnvironment, connect

KINDS = ("gmail.sync", "gmail.sync_labels", "gmail.renew_watch")


@pytest.fixture
def other(env: MailEnvironment) -> Iterator[Runtime]:
    """A second process of the fleet."""
    made = Runtime(env.process.settings, jitter=lambda: 0.0)
    renew(made)
    yield made
    made.close()


def leave(env: MailEnvironment, span: str) -> None:
    """Let the stored access token live this much longer."""
    env.database.execute("update accounts set access_expires_at = now() + %s::interval", (span,))


def stored(env: MailEnvironment) -> Tokens:
    with env.process.database.ledger() as tx:
        return tokens.current(tx, env.process.sealer, env.account.account_id)


def refreshes(env: MailEnvironment) -> int:
    return len(env.gmail.journal("oauth.token"))


def gate(env: MailEnvironment) -> tuple[str, str] | None:
    row = env.database.execute("select scope, key from gates").fetchone()
    return None if row is None else (row[0], row[1])


def test_a_token_about_to_expire_is_refreshed_once_for_several_jobs(env: MailEnvironment) -> None:
    leave(env, "1 minute")
    env.mailbox.expire_access()
    ids = [env.enqueue(kind) for kind in KINDS]
    assert [env.run(job_id) for job_id in ids] == ["succeeded"] * 3
    assert refreshes(env) == 1


def test_a_token_refused_once_is_refreshed_without_spending_an_attempt(env: MailEnvironment) -> None:
    env.fail("getProfile", status=401, reason="authError")
    sync = env.enqueue("gmail.sync")
    assert [env.run(sync), env.run(sync)] == ["returned", "succeeded"]
    assert env.job(sync)["attempt"] == 1
    assert refreshes(env) == 1
    assert stored(env).status == "active"


def test_a_token_refused_for_ever_parks_the_account_and_tells_once(env: MailEnvironment) -> None:
    env.fail("*", path="/gmail/", status=401, reason="authError", times=None)
    ids = [env.enqueue(kind) for kind in KINDS]
    env.drain()
    assert stored(env).status == "needs_reconsent"
    assert gate(env) == ("account", str(env.account.account_id))
    assert [env.job(one)["state"] for one in ids] == ["queued"] * 3
    assert [env.job(one)["attempt"] for one in ids] == [0] * 3
    assert env.count("select count(*) from audit_log where event = 'account.needs_reconsent'") == 1
    assert refreshes(env) == 1


def test_a_second_refusal_in_a_later_attempt_is_refreshed_again(env: MailEnvironment) -> None:
    env.fail("getProfile", status=401, reason="authError")
    env.fail("getProfile", status=500)
    env.fail("getProfile", status=401, reason="authError")
    sync = env.enqueue("gmail.sync")
    assert [end for _, end in env.drain()] == ["returned", "queued", "returned", "succeeded"]
    assert env.job(sync)["attempt"] == 2
    assert refreshes(env) == 2


def test_consent_that_is_gone_parks_until_it_comes_back(env: MailEnvironment) -> None:
    env.sync()
    env.mailbox.revoke()
    leave(env, "1 minute")
    place = env.deliver("Lunch?", "Could you tell me whether noon suits you? Please reply.")
    ids = [env.enqueue(kind) for kind in KINDS]
    env.drain()
    assert [env.job(one)["state"] for one in ids] == ["queued"] * 3
    assert stored(env).status == "needs_reconsent"
    assert env.count("select count(*) from audit_log where event = 'account.needs_reconsent'") == 1
    assert refreshes(env) == 1
    env.mailbox.consent("access-2", "refresh-2")
    connect(env.process, OWNER, "access-2", "refresh-2")
    with env.process.database.ledger() as tx:
        assert gates.open_gate(tx, "account", str(env.account.account_id))
    env.drain()
    assert [env.job(one)["state"] for one in ids] == ["succeeded"] * 3
    assert env.email(place.thread_id).draft_id is not None


def test_a_missing_scope_parks_at_once_because_no_refresh_helps(env: MailEnvironment) -> None:
    env.fail("getProfile", status=403, reason="insufficientPermissions")
    sync = env.enqueue("gmail.sync")
    assert env.run(sync) == "queued"
    assert stored(env).status == "needs_reconsent"
    assert refreshes(env) == 0
    assert env.run(sync) == "not_claimed"


def test_a_rotated_refresh_token_is_kept_for_the_next_time(env: MailEnvironment) -> None:
    env.mailbox.set_token_policy(rotate=True)
    first = stored(env)
    for _ in range(2):
        leave(env, "1 minute")
        env.mailbox.expire_access()
        assert env.run(env.enqueue("gmail.sync_labels")) == "succeeded"
    last = stored(env)
    assert first.refresh_token != last.refresh_token
    assert last.version == first.version + 2


def test_while_another_process_refreshes_the_old_token_serves_as_long_as_it_lives(
    env: MailEnvironment, other: Runtime
) -> None:
    leave(env, "2 minutes")
    take_lease(env, other)
    assert env.run(env.enqueue("gmail.sync_labels")) == "succeeded"
    assert refreshes(env) == 0


def test_while_another_process_refreshes_a_dead_token_the_account_waits_a_moment(
    env: MailEnvironment, other: Runtime
) -> None:
    leave(env, "-1 minute")
    take_lease(env, other)
    sync = env.enqueue("gmail.sync_labels")
    assert env.run(sync) == "queued"
    assert env.job(sync)["attempt"] == 0
    assert gate(env) == ("account", str(env.account.account_id))
    assert refreshes(env) == 0


def take_lease(env: MailEnvironment, process: Runtime) -> None:
    with process.database.ledger() as tx:
        owner, version = process.worker.worker_id, stored(env).version
        assert tokens.take_refresh_lease(tx, env.account.account_id, owner=owner, version=version)


def test_two_processes_at_once_refresh_once(env: MailEnvironment) -> None:
    leave(env, "2 minutes")
    env.mailbox.set_token_policy(rotate=True)
    env.fail("oauth.token", delay_s=0.3, times=None)
    first, second = (env.enqueue(kind) for kind in KINDS[1:])
    context = get_context("spawn")
    start = context.Barrier(2)
    other = context.Process(target=run_in_another_process, args=(env.process.settings, second, start))
    other.start()
    start.wait(60)
    assert env.run(first) == "succeeded"
    other.join(60)
    assert (other.exitcode, env.job(second)["state"]) == (0, "succeeded")
    assert refreshes(env) == 1
    assert stored(env).status == "active"


def run_in_another_process(settings: Settings, job_id: UUID, start: Barrier) -> None:
    """Run a job in a process of its own, as soon as the test does the same."""
    process = Runtime(settings)
    install(process)
    renew(process)
    with process.database.ledger() as tx:
        name = tx.raw("select job_type from jobs where id = %(id)s", {"id": job_id})[0][0]
    found = catalogue.find(name)
    assert found is not None
    start.wait(60)
    run_job(process, found, job_id)


def test_a_failed_refresh_gives_the_lease_back_and_is_tried_again(env: MailEnvironment) -> None:
    leave(env, "-1 minute")
    env.fail("oauth.token", status=503)
    assert [end for _, end in job_ends(env)] == ["queued", "succeeded"]
    assert stored(env).access_expires_at is not None
    assert refreshes(env) == 2


def job_ends(env: MailEnvironment) -> list[tuple[str, str]]:
    env.enqueue("gmail.sync_labels")
    return env.drain()


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 403, "text": "<html><title>Sorry...</title></html>"},
        {"status": 403, "reason": "rate_limit_exceeded"},
        {"status": 400, "reason": "temporarily_unavailable"},
        {"status": 400, "reason": "internal_failure"},
    ],
)
def test_a_bad_moment_of_the_token_endpoint_fails_no_job(env: MailEnvironment, fault: dict[str, Any]) -> None:
    leave(env, "-1 minute")
    env.fail("oauth.token", **fault)
    job_id = env.enqueue("gmail.sync_labels")
    assert env.run(job_id) == "queued"
    pass_time(env.database, timedelta(minutes=2))
    assert env.run(job_id) == "succeeded"
    assert stored(env).status == "active"


def test_a_disconnected_account_ends_its_jobs(env: MailEnvironment) -> None:
    env.database.execute(
        "update accounts set status = 'disconnected', sealed_access_token = null, sealed_refresh_token = null,"
        " access_expires_at = null, status_reason = 'by its owner'"
    )
    assert env.run(env.enqueue("gmail.sync")) == "canceled"
    assert env.run(env.enqueue("gmail.sync_labels")) == "canceled"
    assert env.gmail.journal() == []


def test_a_lost_lease_does_not_outlive_its_time(env: MailEnvironment, other: Runtime) -> None:
    leave(env, "-1 minute")
    take_lease(env, other)
    env.database.execute("update accounts set refresh_until = refresh_until - %s", (timedelta(minutes=1),))
    assert env.run(env.enqueue("gmail.sync_labels")) == "succeeded"
    assert refreshes(env) == 1
