"""What each job type is swept with: data with which its handler does its whole work, effects included.

A type that is not named here is swept with its newest golden payload in a mailbox that holds a stored question. When
that is not enough (the sweep then says so), write a function here that prepares the data, and name it in `SCENARIOS`.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email import message_from_string
from email.policy import default
from typing import Any
from uuid import UUID

from domain.jobs.job import SYSTEM_ORG, Origin
from domain.mail.actions.action import Action
from domain.mail.actions.label_actions import Archive
from domain.mail.actions.requested_action import Delete, Forward, Trash
from domain.mail.actions.snooze import Snooze
from domain.mail.correspondence import EmailState
from engine.catalogue import Job
from sandbox.emulator.control import MessagePlace
from storage.ledger import ledger
from tests.doubles import mail_actions
from tests.doubles.agents import give_agent, order_run, take_in
from tests.doubles.approvals import ask_in_channel, decide, waiting
from tests.doubles.end_hooks import make_hook, repair_hook
from tests.doubles.factories import pass_time
from tests.doubles.mail_actions import stored_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.outgoing_orders import FORWARD, approved, automatic, letter_with_files, order, taken_in
from tests.house import ROOT
from tools.reference import fleet

GOLDEN = ROOT / "tests" / "golden"
QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."

Prepare = Callable[[MailEnvironment], UUID]


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
    """Enqueue the golden payload, with the environment's account, message and thread instead of the made-up ones."""

    def prepare(env: MailEnvironment) -> UUID:
        golden: dict[str, Any] = json.loads((GOLDEN / f"{job_type.name}.v{job_type.declared.version}.json").read_text())
        place = stored_question(env)
        own = {
            "account_id": str(env.account.account_id),
            "message_id": place.message_id,
            "thread_id": place.thread_id,
        }
        payload = {name: own.get(name, value) for name, value in golden.items()}
        return enqueue(env, job_type.name, payload, SYSTEM_ORG if "account_id" not in golden else None)

    return prepare


def enqueue(env: MailEnvironment, job_type: str, payload: dict[str, Any], org_id: UUID | None = None) -> UUID:
    """Enqueue with `postroom.enqueue`, for the environment's org unless another is given."""
    with env.process.database.ledger() as tx:
        rows = tx.raw(
            "select postroom.enqueue(%(type)s, %(org)s, %(payload)s::jsonb)",
            {"type": job_type, "org": org_id or env.account.org_id, "payload": json.dumps(payload)},
        )
    return UUID(str(rows[0][0]))


def queued(env: MailEnvironment, job_type: str) -> UUID:
    """The one job of a type that waits."""
    ids = env.database.execute("select id from jobs where job_type = %s and state = 'queued'", (job_type,)).fetchall()
    assert len(ids) == 1, f"{len(ids)} jobs of {job_type} wait"
    return UUID(str(ids[0][0]))


def stored_question(env: MailEnvironment) -> MessagePlace:
    """A letter that asks for an answer, taken in, not yet classified, its jobs out of the way."""
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.database.execute("delete from jobs where state = 'queued'")
    env.database.execute("delete from idempotency_keys where status = 'pending'")
    return place


def asked(env: MailEnvironment) -> MessagePlace:
    """A question that waits for its classification."""
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    return place


def drafted(env: MailEnvironment) -> MessagePlace:
    """A question whose draft is out."""
    place = asked(env)
    env.drain()
    return place


def history_with_news(env: MailEnvironment) -> UUID:
    """Two new letters, a thread that its person is done with, and a draft that its person has sent."""
    place = drafted(env)
    finished = env.deliver("Old news", "Nothing to do here.")
    env.sync()
    env.deliver("Dinner?", QUESTION)
    env.deliver("Breakfast?", QUESTION)
    env.mailbox.label_thread(finished.thread_id, add=(env.label("Done"),))
    env.mailbox.send_draft(env.email(place.thread_id).draft_id or "")
    return env.enqueue("gmail.sync")


def whole_mailbox(env: MailEnvironment) -> UUID:
    """A mailbox that was never synced, with letters in it."""
    env.deliver("Lunch?", QUESTION)
    env.deliver("News", "Nothing to do here.")
    return env.enqueue("gmail.sync", {"force_full": True})


def unseen_letter(env: MailEnvironment) -> UUID:
    """A letter that history has reported."""
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    return env.enqueue("gmail.ingest", {"message_id": place.message_id, "thread_id": place.thread_id})


def stale_token(env: MailEnvironment) -> UUID:
    """An access token that is about to run out, so that the job refreshes it first."""
    env.database.execute("update accounts set access_expires_at = now() + interval '1 minute'")
    return env.enqueue("gmail.renew_watch")


def no_labels(env: MailEnvironment) -> UUID:
    """A mailbox that has none of our labels."""
    return env.enqueue("gmail.sync_labels")


def older_mail(env: MailEnvironment) -> UUID:
    """Letters of long ago, in a mailbox whose searches have small pages."""
    env.sync()
    env.mailbox.turn(largest_page=2)
    at = int((datetime.now(UTC) - timedelta(days=100)).timestamp() * 1000)
    for number in range(3):
        env.deliver(f"Letter {number}", QUESTION, internal_date=at + number)
    return env.enqueue("gmail.backfill", {"classify": True})


def last_page(env: MailEnvironment) -> UUID:
    """A backfill whose last page is to be read."""
    job_id = older_mail(env)
    env.run(job_id)
    env.drain(only="gmail.backfill_messages")
    return job_id


def batch_of_older_mail(env: MailEnvironment) -> UUID:
    """Two letters of long ago that are to be fetched."""
    env.run(older_mail(env))
    return queued(env, "gmail.backfill_messages")


def unclassified(env: MailEnvironment) -> UUID:
    """A stored question."""
    asked(env)
    return queued(env, "triage.classify")


def reopened(env: MailEnvironment) -> UUID:
    """A new question in a thread that was put to rest with our draft still there, which has to go first."""
    place = given_up(env)
    env.deliver("Lunch?", QUESTION.replace("Friday", "Monday"), thread_id=place.thread_id)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    return queued(env, "triage.classify")


def unanswered(env: MailEnvironment) -> UUID:
    """A question that is to be answered."""
    asked(env)
    env.drain(only="triage.%")
    return queued(env, "drafts.write")


def finished_thread(env: MailEnvironment) -> UUID:
    """A thread with a draft, which its person is done with."""
    place = drafted(env)
    return env.enqueue("threads.cleanup", {"thread_id": place.thread_id, "action": "done"})


def sent_draft(env: MailEnvironment) -> UUID:
    """A draft that its person has sent."""
    place = drafted(env)
    env.mailbox.send_draft(env.email(place.thread_id).draft_id or "")
    return env.enqueue("threads.cleanup", {"thread_id": place.thread_id, "action": "check_sent"})


def reply_to_send(env: MailEnvironment) -> UUID:
    """An answer that a person has approved."""
    place = taken_in(env)
    return order(env, place, approved(env, place.message_id))


def forward_to_send(env: MailEnvironment) -> UUID:
    """A forward of a letter with files."""
    place = taken_in(env, raw=letter_with_files())
    return order(env, place, approved(env, place.message_id, FORWARD))


def new_mail_to_send(env: MailEnvironment) -> UUID:
    """A mail that begins a conversation."""
    place = taken_in(env)
    fields = {"message_type": "new", "original_message_id": None, "subject": "Hello", "body_plain": "Hello"}
    return order(env, place, approved(env, place.message_id, FORWARD), **fields)


def answer_to_send(env: MailEnvironment) -> UUID:
    """An answer that nobody was asked about."""
    place = taken_in(env)
    return order(env, place, automatic(env, place.message_id))


def discarded_draft(env: MailEnvironment) -> UUID:
    """A draft that its person has thrown away, in a thread that the payload names by a message."""
    place = drafted(env)
    env.mailbox.discard_draft(env.email(place.thread_id).draft_id or "")
    payload = {"message_id": place.message_id, "action": "check_sent"}
    job_id = env.enqueue("threads.cleanup", payload)
    env.database.execute("update jobs set created_at = created_at - interval '1 minute' where id = %s", (job_id,))
    return job_id


def asked_by_hand(env: MailEnvironment) -> UUID:
    """A letter that asked for nothing, and whose person wants to answer it."""
    env.sync()
    place = env.deliver("Note", "For your information only.")
    env.sync()
    return label_by_hand(env, place, "Needs Response", "drafts.write_manual")


def unread_by_hand(env: MailEnvironment) -> UUID:
    """A conversation that nobody has taken in, which its person wants to answer."""
    place = env.deliver("Old", "Could you answer?", label_ids=("UNREAD",))
    env.deliver("Re: Old", "Are you there?", thread_id=place.thread_id, label_ids=("UNREAD",))
    env.sync()
    return label_by_hand(env, place, "Needs Response", "drafts.write_manual")


def finished_by_hand(env: MailEnvironment) -> UUID:
    """A thread that was given up with our untouched draft in it, and whose person wants another."""
    place = given_up(env)
    return label_by_hand(env, place, "Needs Response", "drafts.write_manual")


def given_up(env: MailEnvironment) -> MessagePlace:
    """A thread whose draft was reworked too often: it is left to its person."""
    place = drafted(env)
    env.database.execute("update emails set rework_count = 3")
    env.run(label_by_hand(env, place, "Rework", "drafts.rework"))
    assert env.state(place.thread_id) is EmailState.SKIPPED
    return place


def label_by_hand(env: MailEnvironment, place: MessagePlace, label: str, job_type: str) -> UUID:
    """The person puts a label on, and history has told of it."""
    env.mailbox.label_thread(place.thread_id, add=(env.label(label),))
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.drain(only="threads.%")
    return queued(env, job_type)


def instructed(env: MailEnvironment) -> UUID:
    """A draft with an instruction above the machine's words."""
    place = drafted(env)
    draft = env.mailbox.state().drafts[0]
    words = message_from_string(draft["raw"], policy=default).get_content()
    env.mailbox.edit_draft(draft["draft_id"], text=f"Shorter, please.\n\n{words}")
    env.sync()
    return label_by_hand(env, place, "Rework", "drafts.rework")


def edited(env: MailEnvironment) -> UUID:
    """A draft with a person's own words, which nobody may write over."""
    place = drafted(env)
    env.mailbox.edit_draft(env.email(place.thread_id).draft_id or "", text="My own words.")
    env.sync()
    return label_by_hand(env, place, "Rework", "drafts.rework")


def worked_out(env: MailEnvironment) -> UUID:
    """A draft that was reworked three times."""
    place = drafted(env)
    env.database.execute("update emails set rework_count = 3")
    return label_by_hand(env, place, "Rework", "drafts.rework")


def gone_before_rework(env: MailEnvironment) -> UUID:
    """A draft that its person has sent after asking for another."""
    place = drafted(env)
    job_id = label_by_hand(env, place, "Rework", "drafts.rework")
    env.mailbox.send_draft(env.email(place.thread_id).draft_id or "")
    return job_id


def nothing_to_rework(env: MailEnvironment) -> UUID:
    """A thread without a draft, on which its person has put Rework."""
    env.sync()
    place = env.deliver("Note", "For your information only.")
    env.sync()
    return label_by_hand(env, place, "Rework", "drafts.rework")


def looked_after(env: MailEnvironment) -> UUID:
    """A question that an agent reads and drafts an answer to."""
    give_agent(env)
    return order_run(env, take_in(env, "Lunch?", QUESTION))


def filed_by_agent(env: MailEnvironment) -> UUID:
    """A receipt that an agent labels and archives."""
    give_agent(env)
    return order_run(env, take_in(env, "Receipt", "Your order number 5, payment received."))


def handed_over(env: MailEnvironment) -> UUID:
    """Spam that an agent hands to a person."""
    give_agent(env)
    return order_run(env, take_in(env, "Winner", "You are a lottery winner, act now!"))


def dead_job(env: MailEnvironment) -> UUID:
    """A job that died of its payload."""
    die_of_payload(env)
    return queued(env, "deadletter.quarantine")


def alert_due(env: MailEnvironment) -> UUID:
    """A fleet in which a job has died, and nobody was told."""
    die_of_payload(env)
    return enqueue(env, "maintenance.raise_alerts", {}, SYSTEM_ORG)


def die_of_payload(env: MailEnvironment) -> None:
    """Let a job end whose payload cannot be read."""
    unreadable(env)
    env.drain(only="gmail.%")


def unreadable(env: MailEnvironment) -> UUID:
    """A job whose payload cannot be read; no door takes one, so it is spoilt in the ledger."""
    spoilt = env.enqueue("gmail.ingest", {"message_id": "m", "thread_id": "t"})
    env.database.execute("update jobs set payload = payload || '{\"message_id\": null}' where id = %s", (spoilt,))
    return spoilt


def long_finished(job_type: str, age: timedelta) -> Prepare:
    """A fleet whose jobs ended so long ago."""

    def prepare(env: MailEnvironment) -> UUID:
        drafted(env)
        pass_time(env.database, age)
        return enqueue(env, job_type, {}, SYSTEM_ORG)

    return prepare


def missed_hook(env: MailEnvironment) -> UUID:
    """A job that ended while its end-of-job hook was broken; the hook is mended by now."""
    make_hook(env.database, "end_hook", "raise exception 'broken';")
    env.database.execute("update job_types set on_end = 'end_hook' where name = 'gmail.ingest'")
    die_of_payload(env)
    repair_hook(env.database, "end_hook")
    return queued(env, "maintenance.run_end_hook")


def canceled_in_the_call(env: MailEnvironment) -> None:
    """A draft whose answer was lost, and whose job was canceled before it found out."""
    asked(env)
    env.drain(only="triage.%")
    env.fail("drafts.create", drop="after")
    written = queued(env, "drafts.write")
    env.run(written)
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [written], "no longer needed", by=Origin())
    pass_time(env.database, timedelta(hours=1))


def effect_in_doubt(env: MailEnvironment) -> UUID:
    """A fleet with an effect in doubt, which nobody has looked for."""
    canceled_in_the_call(env)
    return enqueue(env, "maintenance.reconcile_effects", {}, SYSTEM_ORG)


def effect_to_ask_about(env: MailEnvironment) -> UUID:
    """The question about an effect in doubt."""
    canceled_in_the_call(env)
    env.run(enqueue(env, "maintenance.reconcile_effects", {}, SYSTEM_ORG))
    return queued(env, "maintenance.resolve_effect")


def spent_day(env: MailEnvironment) -> UUID:
    """An org whose money for the day is gone, and nobody has been notified yet."""
    today = env.process.clock().date()
    env.database.execute(
        "insert into budget_days (org_id, day, exhausted_at) values (%s, %s, now())", (env.account.org_id, today)
    )
    return enqueue(env, "budgets.alert", {"day": today.isoformat(), "daily_microcents": 5})


def to_be_executed(action: Action) -> Prepare:
    """A stored letter, and an action on it that goes ahead."""

    def prepare(env: MailEnvironment) -> UUID:
        place = stored_letter(env)
        # What deleting for good takes.
        env.mailbox.grant("https://mail.google.com/")
        mail_actions.ask(env, place, action)
        return queued(env, "actions.execute")

    return prepare


def to_be_undone(action: Action) -> Prepare:
    """A done action, and its undo."""

    def prepare(env: MailEnvironment) -> UUID:
        done = mail_actions.do(env, stored_letter(env), action)
        return env.enqueue("actions.undo", {"original_action_id": str(done.action_id)})

    return prepare


def due_to_wake(env: MailEnvironment) -> UUID:
    """A snoozed message whose time has come."""
    mail_actions.do(env, stored_letter(env), Snooze(amount=2, units="hours"))
    pass_time(env.database, timedelta(hours=2))
    return queued(env, "actions.unsnooze")


def to_be_asked_about(env: MailEnvironment) -> UUID:
    """An action that waits, in an org that is asked in a channel."""
    ask_in_channel(env)
    waiting(env)
    return queued(env, "approvals.notify")


def to_be_reminded_of(env: MailEnvironment) -> UUID:
    """An action that people were asked about, and that still waits."""
    ask_in_channel(env)
    action_id = waiting(env)
    env.drain(only="approvals.notify")
    return env.enqueue("approvals.notify", {"action_id": str(action_id), "reminder": True})


def denied_on_discord(env: MailEnvironment) -> UUID:
    """An action that was asked about and denied, which its message does not show."""
    ask_in_channel(env)
    action_id = waiting(env)
    env.drain(only="approvals.notify")
    decide(env, action_id, Choice.DENY)
    return queued(env, "approvals.show_outcome")


def approvals_due(env: MailEnvironment) -> UUID:
    """Of three actions that wait, one is past its end, one is to be reminded of, and one has no end."""
    for change in (
        "created_at = now() - interval '4 days', approval_expires_at = now() - interval '1 day'",
        "created_at = now() - interval '2 days 1 hour', approval_expires_at = now() + interval '23 hours'",
        "approval_expires_at = null",
    ):
        action_id = waiting(env)
        env.database.execute(f"update actions set {change} where id = %s", (action_id,))
    env.database.execute("delete from jobs where job_type = 'approvals.notify'")
    env.database.execute("delete from idempotency_keys where status = 'pending'")
    return enqueue(env, "approvals.expire", {}, SYSTEM_ORG)


SCENARIOS: dict[str, dict[str, Prepare]] = {
    "actions.execute": {
        "archive": to_be_executed(Archive()),
        "trash": to_be_executed(Trash()),
        "delete": to_be_executed(Delete()),
        # Awake again within the time that a trial lets pass for its recovery.
        "snooze": to_be_executed(Snooze(amount=5, units="minutes")),
        "forward": to_be_executed(Forward(to=("anna@example.org",))),
    },
    "actions.undo": {
        "archive": to_be_undone(Archive()),
        "trash": to_be_undone(Trash()),
        "snooze": to_be_undone(Snooze(amount=2, units="hours")),
    },
    "actions.unsnooze": {"due": due_to_wake},
    "agents.process": {"drafted": looked_after, "filed": filed_by_agent, "handed_over": handed_over},
    "approvals.expire": {"due": approvals_due},
    "approvals.notify": {"first": to_be_asked_about, "reminder": to_be_reminded_of},
    "approvals.show_outcome": {"denied": denied_on_discord},
    "budgets.alert": {"spent_day": spent_day},
    "deadletter.quarantine": {"dead_job": dead_job},
    "drafts.rework": {
        "instructed": instructed,
        "edited": edited,
        "worked_out": worked_out,
        "gone": gone_before_rework,
        "no_draft": nothing_to_rework,
    },
    "drafts.write": {"unanswered": unanswered},
    "gmail.backfill": {"first_page": older_mail, "last_page": last_page},
    "gmail.backfill_messages": {"batch": batch_of_older_mail},
    "drafts.write_manual": {"asked": asked_by_hand, "unread": unread_by_hand, "finished": finished_by_hand},
    "gmail.ingest": {"unseen_letter": unseen_letter},
    "gmail.renew_watch": {"stale_token": stale_token},
    "gmail.sync": {"history": history_with_news, "full": whole_mailbox},
    "gmail.sync_labels": {"no_labels": no_labels},
    "maintenance.delete_finished_jobs": {
        "old_jobs": long_finished("maintenance.delete_finished_jobs", timedelta(days=8))
    },
    "maintenance.raise_alerts": {"dead_job": alert_due},
    "maintenance.reconcile_effects": {"canceled_in_the_call": effect_in_doubt},
    "maintenance.resolve_effect": {"canceled_in_the_call": effect_to_ask_about},
    "maintenance.run_end_hook": {"missed_hook": missed_hook},
    "maintenance.purge_expired_keys": {"old_keys": long_finished("maintenance.purge_expired_keys", timedelta(days=31))},
    "outbound.send": {
        "reply": reply_to_send,
        "forward": forward_to_send,
        "new": new_mail_to_send,
        "automatic": answer_to_send,
    },
    "threads.cleanup": {"done": finished_thread, "sent": sent_draft, "discarded": discarded_draft},
    "triage.classify": {"unclassified": unclassified, "reopened": reopened},
}
