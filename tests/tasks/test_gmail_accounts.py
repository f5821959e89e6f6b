"""Tokens: one refresh per account, a refused token, consent that is gone and comes back (docs: google-oauth.md)."""

from collections.abc import Iterator
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from uuid import UUID

import pytest

from engine.catalogue import catalogue
from engine.process.runtime import Runtime, install
from engine.worker.lease import renew
from settings import Settings
from storage.accounts import tokens
from storage.accounts.tokens import Tokens
from storage.ledger import gates
from tests.doubles.inline_worker import run_job
from tests.doubles.worlds import OWNER, World, connect

KINDS = ("gmail.sync", "gmail.sync_labels", "gmail.renew_watch")


@pytest.fixture
def other(world: World) -> Iterator[Runtime]:
    """A second process of the fleet."""
    made = Runtime(world.process.settings, jitter=lambda: 0.0)
    renew(made)
    yield made
    made.close()


def leave(world: World, span: str) -> None:
    """Let the stored access token live this much longer."""
    world.database.execute("update accounts set access_expires_at = now() + %s::interval", (span,))


def stored(world: World) -> Tokens:
    with world.process.database.ledger() as tx:
        return tokens.current(tx, world.process.sealer, world.account.account_id)


def refreshes(world: World) -> int:
    return len(world.gmail.journal("oauth.token"))


def gate(world: World) -> tuple[str, str] | None:
    row = world.database.execute("select scope, key from gates").fetchone()
    return None if row is None else (row[0], row[1])


def test_a_token_about_to_expire_is_refreshed_once_for_several_jobs(world: World) -> None:
    leave(world, "1 minute")
    world.mailbox.expire_access()
    ids = [world.enqueue(kind) for kind in KINDS]
    assert [world.run(job_id) for job_id in ids] == ["succeeded"] * 3
    assert refreshes(world) == 1


def test_a_token_refused_once_is_refreshed_without_spending_an_attempt(world: World) -> None:
    world.fail("getProfile", status=401, reason="authError")
    sync = world.enqueue("gmail.sync")
    assert [world.run(sync), world.run(sync)] == ["returned", "succeeded"]
    assert world.job(sync)["attempt"] == 1
    assert refreshes(world) == 1
    assert stored(world).status == "active"


def test_a_token_refused_for_ever_parks_the_account_and_tells_once(world: World) -> None:
    world.fail("*", path="/gmail/", status=401, reason="authError", times=None)
    ids = [world.enqueue(kind) for kind in KINDS]
    world.drain()
    assert stored(world).status == "needs_reconsent"
    assert gate(world) == ("account", str(world.account.account_id))
    assert [world.job(one)["state"] for one in ids] == ["queued"] * 3
    assert [world.job(one)["attempt"] for one in ids] == [0] * 3
    assert world.count("select count(*) from audit_log where event = 'account.needs_reconsent'") == 1
    assert refreshes(world) == 1


def test_a_second_refusal_in_a_later_attempt_is_refreshed_again(world: World) -> None:
    world.fail("getProfile", status=401, reason="authError")
    world.fail("getProfile", status=500)
    world.fail("getProfile", status=401, reason="authError")
    sync = world.enqueue("gmail.sync")
    assert [end for _, end in world.drain()] == ["returned", "queued", "returned", "succeeded"]
    assert world.job(sync)["attempt"] == 2
    assert refreshes(world) == 2


def test_consent_that_is_gone_parks_until_it_comes_back(world: World) -> None:
    world.sync()
    world.mailbox.revoke()
    leave(world, "1 minute")
    place = world.deliver("Lunch?", "Could you tell me whether noon suits you? Please reply.")
    ids = [world.enqueue(kind) for kind in KINDS]
    world.drain()
    assert [world.job(one)["state"] for one in ids] == ["queued"] * 3
    assert stored(world).status == "needs_reconsent"
    assert world.count("select count(*) from audit_log where event = 'account.needs_reconsent'") == 1
    assert refreshes(world) == 1
    world.mailbox.consent("access-2", "refresh-2")
    connect(world.process, OWNER, "access-2", "refresh-2")
    with world.process.database.ledger() as tx:
        assert gates.open_gate(tx, "account", str(world.account.account_id))
    world.drain()
    assert [world.job(one)["state"] for one in ids] == ["succeeded"] * 3
    assert world.email(place.thread_id).draft_id is not None


def test_a_missing_scope_parks_at_once_because_no_refresh_helps(world: World) -> None:
    world.fail("getProfile", status=403, reason="insufficientPermissions")
    sync = world.enqueue("gmail.sync")
    assert world.run(sync) == "queued"
    assert stored(world).status == "needs_reconsent"
    assert refreshes(world) == 0
    assert world.run(sync) == "not_claimed"


def test_a_rotated_refresh_token_is_kept_for_the_next_time(world: World) -> None:
    world.mailbox.set_token_policy(rotate=True)
    first = stored(world)
    for _ in range(2):
        leave(world, "1 minute")
        world.mailbox.expire_access()
        assert world.run(world.enqueue("gmail.sync_labels")) == "succeeded"
    last = stored(world)
    assert first.refresh_token != last.refresh_token
    assert last.version == first.version + 2


def test_while_another_process_refreshes_the_old_token_serves_as_long_as_it_lives(world: World, other: Runtime) -> None:
    leave(world, "2 minutes")
    take_lease(world, other)
    assert world.run(world.enqueue("gmail.sync_labels")) == "succeeded"
    assert refreshes(world) == 0


def test_while_another_process_refreshes_a_dead_token_the_account_waits_a_moment(world: World, other: Runtime) -> None:
    leave(world, "-1 minute")
    take_lease(world, other)
    sync = world.enqueue("gmail.sync_labels")
    assert world.run(sync) == "queued"
    assert world.job(sync)["attempt"] == 0
    assert gate(world) == ("account", str(world.account.account_id))
    assert refreshes(world) == 0


def take_lease(world: World, process: Runtime) -> None:
    with process.database.ledger() as tx:
        owner, version = process.worker.worker_id, stored(world).version
        assert tokens.take_refresh_lease(tx, world.account.account_id, owner=owner, version=version)


def test_two_processes_at_once_refresh_once(world: World) -> None:
    leave(world, "2 minutes")
    world.mailbox.set_token_policy(rotate=True)
    world.fail("oauth.token", delay_s=0.3, times=None)
    first, second = (world.enqueue(kind) for kind in KINDS[1:])
    context = get_context("spawn")
    start = context.Barrier(2)
    other = context.Process(target=run_in_another_process, args=(world.process.settings, second, start))
    other.start()
    start.wait(60)
    assert world.run(first) == "succeeded"
    other.join(60)
    assert (other.exitcode, world.job(second)["state"]) == (0, "succeeded")
    assert refreshes(world) == 1
    assert stored(world).status == "active"


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


def test_a_failed_refresh_gives_the_lease_back_and_is_tried_again(world: World) -> None:
    leave(world, "-1 minute")
    world.fail("oauth.token", status=503)
    assert [end for _, end in world_ends(world)] == ["queued", "succeeded"]
    assert stored(world).access_expires_at is not None
    assert refreshes(world) == 2


def world_ends(world: World) -> list[tuple[str, str]]:
    world.enqueue("gmail.sync_labels")
    return world.drain()


def test_a_disconnected_account_ends_its_jobs(world: World) -> None:
    world.database.execute(
        "update accounts set status = 'disconnected', sealed_access_token = null, sealed_refresh_token = null,"
        " access_expires_at = null, status_reason = 'by its owner'"
    )
    assert world.run(world.enqueue("gmail.sync")) == "canceled"
    assert world.run(world.enqueue("gmail.sync_labels")) == "failed"
    assert world.gmail.journal() == []


def test_a_lost_lease_does_not_outlive_its_time(world: World, other: Runtime) -> None:
    leave(world, "-1 minute")
    take_lease(world, other)
    world.database.execute("update accounts set refresh_until = refresh_until - %s", (timedelta(minutes=1),))
    assert world.run(world.enqueue("gmail.sync_labels")) == "succeeded"
    assert refreshes(world) == 1
