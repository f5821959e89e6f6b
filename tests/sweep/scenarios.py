"""What each job type is swept with: a world in which its handler does its whole work, effects included.

A type that is not named here is swept with its newest golden payload in a mailbox that holds a stored question. When
that is not enough (the sweep then says so), write a function here that prepares the world, and name it in `SCENARIOS`.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from domain.jobs.job import SYSTEM_ORG
from engine.catalogue import Job
from sandbox.emulator.control import MessagePlace
from tests.doubles.end_hooks import make_hook, repair_hook
from tests.doubles.factories import pass_time
from tests.doubles.worlds import World
from tests.house import ROOT
from tools.reference import fleet

GOLDEN = ROOT / "tests" / "golden"
QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."

Prepare = Callable[[World], UUID]


@dataclass(frozen=True)
class Scenario:
    """One way to run one job type; `prepare` returns the id of the job to be swept, queued and due."""

    job_type: str
    variant: str
    prepare: Prepare

    def __str__(self) -> str:
        """As the report and the tests name it."""
        return f"{self.job_type}-{self.variant}"


def swept_types() -> list[str]:
    """Every job type of the fleet, by name; whoever adds one finds it here."""
    return [one.name for one in fleet()]


def scenarios_of(job_type: Job[Any]) -> Iterator[Scenario]:
    """The named ones of a type, or the one that its golden payload makes."""
    named = SCENARIOS.get(job_type.name, {})
    for variant, prepare in named.items():
        yield Scenario(job_type.name, variant, prepare)
    if not named:
        yield Scenario(job_type.name, "golden", by_golden_payload(job_type))


def by_golden_payload(job_type: Job[Any]) -> Prepare:
    """Enqueue the golden payload, with the world's own account, message and thread in the place of the made-up ones."""

    def prepare(world: World) -> UUID:
        golden: dict[str, Any] = json.loads((GOLDEN / f"{job_type.name}.v{job_type.declared.version}.json").read_text())
        place = stored_question(world)
        own = {
            "account_id": str(world.account.account_id),
            "message_id": place.message_id,
            "thread_id": place.thread_id,
        }
        payload = {name: own.get(name, value) for name, value in golden.items()}
        return enqueue(world, job_type.name, payload, SYSTEM_ORG if "account_id" not in golden else None)

    return prepare


def enqueue(world: World, job_type: str, payload: dict[str, Any], org_id: UUID | None = None) -> UUID:
    """Enqueue through the SQL door, for the world's org unless another is given."""
    with world.process.database.ledger() as tx:
        rows = tx.raw(
            "select postroom.enqueue(%(type)s, %(org)s, %(payload)s::jsonb)",
            {"type": job_type, "org": org_id or world.account.org_id, "payload": json.dumps(payload)},
        )
    return UUID(str(rows[0][0]))


def queued(world: World, job_type: str) -> UUID:
    """The one job of a type that waits."""
    ids = world.database.execute("select id from jobs where job_type = %s and state = 'queued'", (job_type,)).fetchall()
    assert len(ids) == 1, f"{len(ids)} jobs of {job_type} wait"
    return UUID(str(ids[0][0]))


def stored_question(world: World) -> MessagePlace:
    """A letter that asks for an answer, taken in, not yet classified, its jobs out of the way."""
    world.sync()
    place = world.deliver("Lunch?", QUESTION)
    world.enqueue("gmail.sync")
    world.drain(only="gmail.%")
    world.database.execute("delete from jobs where state = 'queued'")
    world.database.execute("delete from idempotency_keys where status = 'pending'")
    return place


def asked(world: World) -> MessagePlace:
    """A question that waits for its classification."""
    world.sync()
    place = world.deliver("Lunch?", QUESTION)
    world.enqueue("gmail.sync")
    world.drain(only="gmail.%")
    return place


def drafted(world: World) -> MessagePlace:
    """A question whose draft is out."""
    place = asked(world)
    world.drain()
    return place


def history_with_news(world: World) -> UUID:
    """Two new letters, a thread that its person is done with, and a draft that its person has sent."""
    place = drafted(world)
    finished = world.deliver("Old news", "Nothing to do here.")
    world.sync()
    world.deliver("Dinner?", QUESTION)
    world.deliver("Breakfast?", QUESTION)
    world.mailbox.label_thread(finished.thread_id, add=(world.label("Done"),))
    world.mailbox.send_draft(world.email(place.thread_id).draft_id or "")
    return world.enqueue("gmail.sync")


def whole_mailbox(world: World) -> UUID:
    """A mailbox that was never synced, with letters in it."""
    world.deliver("Lunch?", QUESTION)
    world.deliver("News", "Nothing to do here.")
    return world.enqueue("gmail.sync", {"force_full": True})


def unseen_letter(world: World) -> UUID:
    """A letter that history has told of."""
    world.sync()
    place = world.deliver("Lunch?", QUESTION)
    return world.enqueue("gmail.ingest", {"message_id": place.message_id, "thread_id": place.thread_id})


def stale_token(world: World) -> UUID:
    """An access token that is about to run out, so that the job refreshes it first."""
    world.database.execute("update accounts set access_expires_at = now() + interval '1 minute'")
    return world.enqueue("gmail.renew_watch")


def no_labels(world: World) -> UUID:
    """A mailbox that has none of our labels."""
    return world.enqueue("gmail.sync_labels")


def unclassified(world: World) -> UUID:
    """A stored question."""
    asked(world)
    return queued(world, "triage.classify")


def reopened(world: World) -> UUID:
    """A new question in a thread that was put to rest with our draft still there, which has to go first."""
    place = drafted(world)
    world.mailbox.label_thread(place.thread_id, add=(world.label("Done"),))
    world.sync()
    world.deliver("Lunch?", QUESTION.replace("Friday", "Monday"), thread_id=place.thread_id)
    world.enqueue("gmail.sync")
    world.drain(only="gmail.%")
    return queued(world, "triage.classify")


def unanswered(world: World) -> UUID:
    """A question that is to be answered."""
    asked(world)
    world.drain(only="triage.%")
    return queued(world, "drafts.write")


def finished_thread(world: World) -> UUID:
    """A thread with a draft, which its person is done with."""
    place = drafted(world)
    return world.enqueue("threads.cleanup", {"thread_id": place.thread_id, "action": "done"})


def sent_draft(world: World) -> UUID:
    """A draft that its person has sent."""
    place = drafted(world)
    world.mailbox.send_draft(world.email(place.thread_id).draft_id or "")
    return world.enqueue("threads.cleanup", {"thread_id": place.thread_id, "action": "check_sent"})


def dead_job(world: World) -> UUID:
    """A job that died of its payload."""
    world.enqueue("gmail.ingest", {"message_id": "m", "thread_id": None})
    world.drain(only="gmail.%")
    return queued(world, "deadletter.quarantine")


def long_finished(job_type: str, age: timedelta) -> Prepare:
    """A fleet whose jobs ended so long ago."""

    def prepare(world: World) -> UUID:
        drafted(world)
        pass_time(world.database, age)
        return enqueue(world, job_type, {}, SYSTEM_ORG)

    return prepare


def missed_hook(world: World) -> UUID:
    """A job that ended while its end-of-job hook was broken; the hook is mended by now."""
    make_hook(world.database, "end_hook", "raise exception 'broken';")
    world.database.execute("update job_types set on_end = 'end_hook' where name = 'gmail.ingest'")
    world.enqueue("gmail.ingest", {"message_id": "m", "thread_id": None})
    world.drain(only="gmail.%")
    repair_hook(world.database, "end_hook")
    return queued(world, "maintenance.run_end_hook")


def spent_day(world: World) -> UUID:
    """An org whose money for the day is gone, and nobody has been told yet."""
    today = world.process.clock().date()
    world.database.execute(
        "insert into budget_days (org_id, day, exhausted_at) values (%s, %s, now())", (world.account.org_id, today)
    )
    return enqueue(world, "budgets.alert", {"day": today.isoformat(), "daily_microcents": 5})


SCENARIOS: dict[str, dict[str, Prepare]] = {
    "budgets.alert": {"spent_day": spent_day},
    "deadletter.quarantine": {"dead_job": dead_job},
    "drafts.write": {"unanswered": unanswered},
    "gmail.ingest": {"unseen_letter": unseen_letter},
    "gmail.renew_watch": {"stale_token": stale_token},
    "gmail.sync": {"history": history_with_news, "full": whole_mailbox},
    "gmail.sync_labels": {"no_labels": no_labels},
    "maintenance.delete_finished_jobs": {
        "old_jobs": long_finished("maintenance.delete_finished_jobs", timedelta(days=8))
    },
    "maintenance.run_end_hook": {"missed_hook": missed_hook},
    "maintenance.purge_expired_keys": {"old_keys": long_finished("maintenance.purge_expired_keys", timedelta(days=31))},
    "threads.cleanup": {"done": finished_thread, "sent": sent_draft},
    "triage.classify": {"unclassified": unclassified, "reopened": reopened},
}
