"""What each job type is swept with: data with which its handler does its whole work, effects included.

A type that is not named here is swept with its newest golden payload in a mailbox that holds a stored question. When
that is not enough (the sweep then says so), write a function in `tests/sweep/prepared/` that prepares the data, and
name it in `SCENARIOS`, here or in its own module.
"""

import json
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any
from uuid import UUID

from domain.jobs.job import SYSTEM_ORG
from domain.mail.actions.label_actions import Archive
from domain.mail.actions.requested_action import Delete, Forward, Trash
from domain.mail.actions.snooze import Snooze
from domain.notifications.channels import Channel
from domain.notifications.sender import EmailProvider
from domain.payloads.actions import OrderedBy
from engine.catalogue import Job
from tests.doubles.mail_environment import MailEnvironment
from tests.house.reading import ROOT
from tests.sweep import prepared
from tests.sweep.prepared.actions import (
    answer_to_send,
    asked_by_schedule,
    due_to_wake,
    filed_by_agent,
    forward_to_send,
    handed_over,
    looked_after,
    new_mail_to_send,
    reply_to_send,
    to_be_decided_again,
    to_be_executed,
    to_be_undone,
)
from tests.sweep.prepared.approvals import (
    approvals_due,
    denied_on_discord,
    to_be_asked_about,
    to_be_reminded_of,
)
from tests.sweep.prepared.artifacts import ended_artifacts, mail_with_file, orphaned_bytes
from tests.sweep.prepared.audit import changed_sheet, org_that_lacks_details
from tests.sweep.prepared.drafts import (
    asked_by_hand,
    discarded_draft,
    edited,
    finished_by_hand,
    finished_thread,
    gone_before_rework,
    instructed,
    nothing_to_rework,
    sent_draft,
    unanswered,
    unread_by_hand,
    worked_out,
)
from tests.sweep.prepared.email import mail_by_graph, mail_by_resend
from tests.sweep.prepared.gmail import (
    batch_of_older_mail,
    forgotten_page,
    history_with_news,
    last_page,
    new_mailbox,
    no_labels,
    older_mail,
    owner_with_sent_mail,
    page_between,
    reopened,
    stale_token,
    unclassified,
    unseen_letter,
    unsure,
    whole_mailbox,
)
from tests.sweep.prepared.housekeeping import (
    alert_due,
    dead_job,
    effect_in_doubt,
    effect_to_ask_about,
    long_finished,
    missed_hook,
    spent_day,
)
from tests.sweep.prepared.notifications import (
    asked_for,
    asked_for_in_digest,
    digest_of,
    due_reminder,
    old_notifications,
    old_reminders,
    to_be_sent_by,
)
from tests.sweep.prepared.places import Prepare, enqueue, stored_question
from tests.sweep.prepared.planning import (
    double_booked,
    faults_in_a_file,
    times_in_a_file,
    to_be_exported,
    to_be_planned,
)
from tests.sweep.prepared.workflows import asked_to, begun, canceled, ended_nodes, event_and_time, resumed, saved
from tools.reference import fleet

ANNA = "anna@example.com"
REPLYING = ["search_mail", "read_thread", "reply"]
GOLDEN = ROOT / "tests" / "golden"


@dataclass(frozen=True)
class Scenario:
    """One way to run one job type; `prepare` returns the id of the job to be swept, queued and due."""

    job_type: str
    variant: str
    prepare: Prepare
    attempt_ends: str = "succeeded"
    """How the attempt ends to which things happen; a job that is snoozed then succeeds in a later one."""
    bears: bool = False
    """Whether what the job enqueues is born claimed, and runs in the same process."""

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
        yield Scenario(
            job_type.name, variant, prepare, "queued" if (job_type.name, variant) in SNOOZED else "succeeded"
        )
        if (job_type.name, variant) in BEARING:
            yield Scenario(job_type.name, f"{variant}-bearing", prepare, bears=True)
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


SCENARIOS: dict[str, dict[str, Prepare]] = {
    "accounts.learn_voice": {"sent_mail": owner_with_sent_mail},
    "accounts.onboard": {"new_mailbox": new_mailbox},
    "actions.execute": {
        "archive": to_be_executed(Archive()),
        "trash": to_be_executed(Trash()),
        "delete": to_be_executed(Delete()),
        # Awake again within the time that a trial lets pass for its recovery.
        "snooze": to_be_executed(Snooze(amount=5, units="minutes")),
        "forward": to_be_executed(Forward(to=("anna@example.org",))),
    },
    "actions.execute_decided": {"archive": to_be_executed(Archive(), OrderedBy.DECISION)},
    "actions.undo": {
        "archive": to_be_undone(Archive()),
        "trash": to_be_undone(Trash()),
        "snooze": to_be_undone(Snooze(amount=2, units="hours")),
    },
    "actions.unsnooze": {"due": due_to_wake},
    "agents.invoke": {
        "drafted": asked_by_schedule(f"Answer {ANNA}."),
        "filed": asked_by_schedule("File the newest."),
        "waiting": asked_by_schedule(
            f"Answer {ANNA}.",
            send_allowed=True,
            may_reply=True,
            tools=["search_mail", "read_thread", "reply"],
            labels=[],
        ),
    },
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
    "gmail.backfill": {
        "first_page": older_mail,
        "page_between": page_between,
        "last_page": last_page,
        "forgotten_page": forgotten_page,
    },
    "gmail.backfill_messages": {"batch": batch_of_older_mail},
    "drafts.write_manual": {"asked": asked_by_hand, "unread": unread_by_hand, "finished": finished_by_hand},
    "email.send": {
        "resend": mail_by_resend,
        "graph": mail_by_graph,
        "resend_with_file": mail_with_file(EmailProvider.RESEND),
        "graph_with_file": mail_with_file(EmailProvider.GRAPH),
    },
    "exports.project_plan": {"to_be_exported": to_be_exported},
    "imports.availability": {"times": times_in_a_file, "faults": faults_in_a_file},
    "gmail.ingest": {"unseen_letter": unseen_letter},
    "gmail.renew_watch": {"stale_token": stale_token},
    "gmail.sync": {"history": history_with_news, "full": whole_mailbox},
    "gmail.sync_labels": {"no_labels": no_labels},
    "maintenance.delete_finished_jobs": {
        "old_jobs": long_finished("maintenance.delete_finished_jobs", timedelta(days=8))
    },
    "maintenance.expire_artifacts": {"ended": ended_artifacts},
    "maintenance.sweep_artifacts": {"orphaned": orphaned_bytes},
    "maintenance.raise_alerts": {"dead_job": alert_due},
    "maintenance.reconcile_effects": {"canceled_in_the_call": effect_in_doubt},
    "maintenance.resolve_effect": {"canceled_in_the_call": effect_to_ask_about},
    "maintenance.run_end_hook": {"missed_hook": missed_hook},
    "maintenance.purge_expired_keys": {
        "old_keys": long_finished("maintenance.purge_expired_keys", timedelta(days=31)),
        "old_notifications": old_notifications,
        "old_reminders": old_reminders,
    },
    "notifications.close_digest": {"of_one": digest_of(1), "of_two": digest_of(2)},
    "notifications.deliver": {"everywhere": asked_for, "into_a_digest": asked_for_in_digest},
    "reminders.deliver": {"once": due_reminder(None), "by_rule": due_reminder("FREQ=DAILY")},
    "notifications.send_email": {
        "resend": to_be_sent_by(Channel.EMAIL),
        "graph": to_be_sent_by(Channel.EMAIL, EmailProvider.GRAPH),
    },
    "notifications.send_push": {"planned": to_be_sent_by(Channel.PUSH)},
    "notifications.send_sms": {"planned": to_be_sent_by(Channel.SMS)},
    "outbound.send": {
        "reply": reply_to_send,
        "forward": forward_to_send,
        "new": new_mail_to_send,
        "automatic": answer_to_send,
    },
    "audit.enrich": {"changed_sheet": changed_sheet},
    "audit.catch_up": {"org_that_lacks_details": org_that_lacks_details},
    "planning.scan_conflicts": {"double_booked": double_booked},
    "planning.suggest_assignments": {"to_be_planned": to_be_planned},
    "threads.cleanup": {"done": finished_thread, "sent": sent_draft, "discarded": discarded_draft},
    "triage.classify": {
        "unclassified": unclassified,
        "reopened": reopened,
        "again": to_be_decided_again,
        "two_models": unsure,
    },
    "workflows.run": {"saved": saved},
    "workflows.advance": {
        "begun": begun,
        "ended_nodes": ended_nodes,
        "event_and_time": event_and_time,
        "canceled": asked_to(canceled),
        "resumed": asked_to(resumed),
    },
}

for found in pkgutil.iter_modules(prepared.__path__, f"{prepared.__name__}."):
    SCENARIOS |= getattr(import_module(found.name), "SCENARIOS", {})

BEARING = frozenset({("gmail.ingest", "unseen_letter"), ("workflows.advance", "begun")})
"""Scenarios that are swept once more by workers in which the children are born claimed: by a handler's settlement, and
by the loop's, whose hooks put jobs in place."""

SNOOZED = frozenset({("gmail.backfill", "first_page"), ("gmail.backfill", "page_between")})
"""Scenarios of an attempt that ends before its job: after a page that orders messages the job waits for them."""
