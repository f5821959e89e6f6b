"""`agents.invoke`: what a schedule, a workflow or a service asks an agent for, with a mailbox and without."""

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from commands.operations import AREAS
from domain.mail.actions.status import ActionStatus
from domain.models.agents.loop import RunStatus
from engine.relay.due_schedules import DueSchedules
from sandbox.emulator.control import FaultOrder
from storage.jobs import ledger
from storage.mail.accounts import accounts
from storage.mail.actions import actions as stored_actions
from storage.models.agents import profiles
from tests.commands.calling import answer
from tests.doubles.agents import (
    BY,
    end,
    ensure_label,
    give_agent,
    invoke,
    refusals,
    results_shown,
    run_of,
    say,
    store_letter,
    turns_of,
)
from tests.doubles.mail_environment import MailEnvironment

ANNA = "anna@example.com"
BOSS = {"From": "Boss <boss@example.com>"}
WRITES: dict[str, Any] = {
    "send_allowed": True,
    "may_reply": True,
    "tools": ["search_mail", "read_thread", "draft_reply", "reply"],
    "labels": [],
}


def output(env: MailEnvironment, job_id: UUID) -> dict[str, Any]:
    job = env.job(job_id)
    assert job["state"] == "succeeded", job["error"]
    found: dict[str, Any] = job["output"]
    return found


def actions(env: MailEnvironment, message_id: str) -> list[tuple[str, str, str | None]]:
    with env.process.database.ledger() as tx:
        found = stored_actions.of_message(tx, env.account.account_id, message_id)
    return [(str(one.kind), one.state, one.requested_by) for one in found]


def test_ac_19_agent_invocation_handler(env: MailEnvironment) -> None:
    """From the command to the answer: the relay fires, the agent reads its owner's mail, and asks before it sends."""
    give_agent(env, **WRITES)
    place = store_letter(env)
    work = {"agent_name": "assistant", "prompt": "What needs an answer?", "config": {"turns": 5}}
    when = ("--cron", "0 7 * * *", "--missed", "run_once")
    asked = ("--job-type", "agent_invocation", "--payload", json.dumps(work), *when)
    add = ("add", "brief", "--org", env.account.org_id, "--owner-id", env.account.user_id, *asked)
    made = answer(AREAS.schedules, *add)
    env.database.execute("update schedules set next_run_at = now() - interval '1 minute'")
    DueSchedules(env.process).turn()
    say(env, ("search_mail", {"person": ANNA}), ("read_thread", {"thread_id": place.thread_id}))
    say(env, ("reply", {"thread_id": place.thread_id, "body": "Noon is fine."}))
    end(env, "Anna asks for lunch.")
    assert env.drain(only="agents.%") == [("agents.invoke", "succeeded")]
    (job_id, actor, by), *others = env.database.execute(
        "select id, actor_type, actor_id from jobs where job_type = 'agents.invoke'"
    ).fetchall()
    assert (others, actor, by) == ([], "user", str(env.account.user_id))
    said = output(env, job_id)
    assert said.pop("duration_ms") >= 0
    assert said == {"output": "Anna asks for lunch.", "pending_actions": 1, "status": "succeeded"}
    assert actions(env, place.message_id) == [("auto_reply", "approved_pending", f"job:{job_id}")]
    assert env.count("select count(*) from jobs where job_type = 'approvals.notify'") == 1
    assert env.gmail.journal("drafts.send") == env.gmail.journal("messages.send") == []
    run = run_of(env, job_id)
    assert (str(run.schedule_id), run.account_id) == (made["schedule_id"], env.account.account_id)
    assert (run.status, run.turns, run.pending_actions, run.output_preview, run.message_id) == (
        RunStatus.SUCCEEDED,
        4,
        1,
        "Anna asks for lunch.",
        None,
    )
    opening = env.database.execute("select result from job_steps where name = 'agent_opening'").fetchone()
    assert opening is not None
    assert opening[0]["text"].endswith("What needs an answer?")
    assert env.count("select count(*) from decisions") == 0, "nobody has decided about the message"


def test_it_searches_reads_labels_and_archives(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env, "Receipt", "Order number 5.")
    store_letter(env, "The vault", "Another thing.", headers=BOSS)
    spam = store_letter(env, "Winner", "You have won.", label_ids=("SPAM",))
    thread = {"thread_id": place.thread_id}
    say(env, ("apply_label", thread | {"label": "Receipts"}), ("search_mail", {}))
    say(env, ("apply_label", thread | {"label": "Receipts"}), ("archive", thread), ("read_thread", thread))
    end(env)
    run = run_of(env, invoke(env))
    assert refusals(env, run) == ["Refused. thread_id: no search of this run has found it"]
    shown = results_shown(env)
    assert "The vault" in shown
    assert spam.thread_id not in shown
    assert env.mailbox.state().label_names(place.message_id) == {"Receipts", "UNREAD"}
    assert env.sync() == [("gmail.sync", "succeeded")], "our own writes come back as history and change nothing"


def test_a_draft_is_made_for_whoever_has_seen_all_that_was_shown(env: MailEnvironment) -> None:
    give_agent(env)
    store_letter(env, "The vault", "Its code is 4711.", headers=BOSS)
    place = store_letter(env)
    draft = ("draft_reply", {"thread_id": place.thread_id, "body": "Noon is fine."})
    read = ("read_thread", {"thread_id": place.thread_id})
    say(env, ("search_mail", {"person": f" {ANNA.upper()}"}), draft, read, draft, draft)
    end(env)
    run = run_of(env, invoke(env))
    assert [one.removeprefix("Refused. ") for one in refusals(env, run)] == [
        "thread_id: read the thread before you write in it",
        "thread: has a draft already, and a second one would confuse its owner",
    ]
    assert "4711" not in results_shown(env)
    (made,) = env.mailbox.state().drafts
    assert (made["thread_id"], made["ghost"]) == (place.thread_id, False)


@pytest.mark.parametrize("tool", ["draft_reply", "reply"])
def test_who_was_shown_other_peoples_mail_writes_nothing(env: MailEnvironment, tool: str) -> None:
    give_agent(env, **WRITES)
    store_letter(env, "The vault", "Its code is 4711.", headers=BOSS)
    place = store_letter(env)
    say(env, ("search_mail", {}), ("read_thread", {"thread_id": place.thread_id}))
    say(env, (tool, {"thread_id": place.thread_id, "body": "It is 4711."}))
    end(env)
    job_id = invoke(env)
    assert "a person has to write" in refusals(env, run_of(env, job_id))[0]
    assert output(env, job_id)["pending_actions"] == 0
    assert env.mailbox.state().drafts == []


@pytest.mark.parametrize(
    ("headers", "options", "words"),
    [
        ({"Auto-Submitted": "auto-generated"}, {}, "was written by a machine"),
        ({"Reply-To": "eve@evil.example"}, {"text": "And this?"}, "a person has to write"),
    ],
)
def test_an_answer_that_must_not_be_is_refused(
    env: MailEnvironment, headers: dict[str, str], options: dict[str, str], words: str
) -> None:
    give_agent(env)
    store_letter(env, "Menu", "The code of the kitchen is soup.")
    place = store_letter(env, headers=headers, **options)
    say(env, ("search_mail", {"person": ANNA}), ("read_thread", {"thread_id": place.thread_id}))
    say(env, ("draft_reply", {"thread_id": place.thread_id, "body": "Noon."}))
    end(env)
    assert words in refusals(env, run_of(env, invoke(env)))[0]
    assert env.mailbox.state().drafts == []


def test_a_message_that_came_after_the_reading_makes_the_draft_out_of_date(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env)
    say(env, ("search_mail", {"person": ANNA}), ("read_thread", {"thread_id": place.thread_id}))
    env.model.order(FaultOrder(operation="messages.create", status=529))
    job_id = env.enqueue("agents.invoke", {"profile": "assistant"})
    assert env.run(job_id) == "queued"
    env.deliver("Re: Lunch?", "Never mind.", thread_id=place.thread_id)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    say(env, ("draft_reply", {"thread_id": place.thread_id, "body": "Noon."}))
    end(env)
    env.drain(only="agents.%")
    assert refusals(env, run_of(env, job_id)) == ["Refused. thread: has changed since this run began"]
    assert env.mailbox.state().drafts == []


def test_a_person_is_not_asked_again_and_again(env: MailEnvironment) -> None:
    """A schedule asks each morning; what waits, and what was denied, is not asked for anew."""
    give_agent(env, **WRITES)
    place = store_letter(env)

    def ask() -> int:
        say(env, ("search_mail", {"person": ANNA}), ("read_thread", {"thread_id": place.thread_id}))
        say(env, ("reply", {"thread_id": place.thread_id, "body": "Noon is fine."}))
        end(env)
        return int(output(env, invoke(env))["pending_actions"])

    assert [ask(), ask()] == [1, 0]
    (waiting,) = env.database.execute("select id from actions").fetchall()
    with env.process.database.ledger() as tx:
        assert stored_actions.decide(tx, waiting[0], ActionStatus.DENIED, approver="ada")
    assert ask() == 0
    assert env.count("select count(*) from actions") == 1


def test_without_a_mailbox_it_has_words_only(env: MailEnvironment) -> None:
    give_agent(env)
    say(env, ("search_mail", {}))
    env.say(text="Three things: token=ghp_" + "a1B2" * 9 + " " + "x" * 6_000)
    job_id = invoke(env, account_id=None)
    run = run_of(env, job_id)
    assert (run.account_id, run.status, run.refused_calls) == (None, RunStatus.SUCCEEDED, 1)
    said = output(env, job_id)["output"]
    assert said.startswith("Three things: ")
    assert "ghp_" not in said
    assert len(said) <= 5_000
    assert env.job(job_id)["cost_microcents"] == run.cost_microcents > 0


def test_a_person_is_called(env: MailEnvironment) -> None:
    give_agent(env)
    say(env, ("escalate", {"reason": "The landlord gives notice."}))
    job_id = invoke(env)
    said = output(env, job_id)
    assert (said["output"], said["status"]) == ("The landlord gives notice.", "escalated")
    rows = env.database.execute("select user_id, template, data ->> 'text' from notifications").fetchall()
    assert rows == [(env.account.user_id, "postroom.agent", "The landlord gives notice.")]


@pytest.mark.parametrize(
    ("profile", "said", "code", "stopped_by"),
    [
        ({"limits": {"turns": 1}}, ("search_mail", {}), "agent.stopped", "turns"),
        ({"limits": {"microcents": 1}}, None, "agent.stopped", "money"),
        ({}, "refusal", "agent.failed", None),
    ],
)
def test_a_run_that_comes_to_nothing_fails_its_job_with_the_reason(
    env: MailEnvironment,
    profile: dict[str, Any],
    said: tuple[str, dict[str, Any]] | str | None,
    code: str,
    stopped_by: str | None,
) -> None:
    give_agent(env, **profile)
    if isinstance(said, str):
        env.say(stop_reason=said)
    elif said is not None:
        say(env, said)
    job_id = invoke(env)
    job, run = env.job(job_id), run_of(env, job_id)
    assert (job["state"], job["attempt"], job["error"]["code"]) == ("failed", 1, code)
    assert (run.stopped_by, run.reason) == (stopped_by, job["error"]["reason"])
    assert run.status.value == code.removeprefix("agent.")
    assert len(turns_of(env, run)) == run.turns


def test_a_caller_narrows_the_limits_and_never_widens_them(env: MailEnvironment) -> None:
    give_agent(env, limits={"turns": 2})
    for wanted, turns in ((1, 1), (50, 2)):
        say(env, *[("search_mail", {"query": f"word{n}"}) for n in range(turns)])
        run = run_of(env, invoke(env, config={"turns": wanted}))
        assert (run.stopped_by, run.turns) == ("turns", turns)


@pytest.mark.parametrize(
    ("payload", "off", "end", "words"),
    [
        ({"profile": "nobody"}, None, ("dead", "invalid"), "payload.profile: there is no profile nobody"),
        ({"account_id": str(uuid4())}, None, ("dead", "invalid"), "payload.account_id: is no account of this org"),
        ({}, "profile", ("failed", "agent.disabled"), "the profile assistant is disabled"),
        ({}, "account", ("failed", "agent.off"), "agents are off for this account"),
    ],
)
def test_what_may_not_run_fails_at_once(
    env: MailEnvironment, payload: dict[str, str], off: str | None, end: tuple[str, str], words: str
) -> None:
    give_agent(env)
    with env.process.database.ledger() as tx:
        if off == "profile":
            profiles.switch(tx, env.account.org_id, "assistant", enabled=False, by=BY)
        elif off == "account":
            accounts.save_settings(tx, env.account.account_id, {"agent_enabled": False, "send_allowed": False})
    job = env.job(invoke(env, **payload))
    assert ((job["state"], job["error"]["code"]), job["error"]["reason"]) == (end, words)
    assert env.model.journal("messages.create") == []
    assert env.count("select count(*) from agent_runs") == 0


@pytest.mark.parametrize("order", [{"drop": "after"}, {"drop": "before"}, {"status": 503, "after_execution": True}])
def test_a_lost_answer_leads_to_one_draft_and_to_no_second_payment(env: MailEnvironment, order: dict[str, Any]) -> None:
    give_agent(env)
    place = store_letter(env)
    env.fail("drafts.create", **order)
    say(env, ("search_mail", {"person": ANNA}), ("read_thread", {"thread_id": place.thread_id}))
    say(env, ("draft_reply", {"thread_id": place.thread_id, "body": "Noon."}))
    end(env)
    run = run_of(env, invoke(env))
    assert run.status is RunStatus.SUCCEEDED
    assert len(env.mailbox.state().drafts) == 1
    assert len(env.model.journal("messages.create")) == run.turns == 4


def test_an_attempt_keeps_the_profile_that_the_first_began_with(env: MailEnvironment) -> None:
    stored = give_agent(env)
    env.model.order(FaultOrder(operation="messages.create", status=529))
    job_id = env.enqueue("agents.invoke", {"profile": "assistant", "account_id": None})
    assert env.run(job_id) == "queued"
    with env.process.database.ledger() as tx:
        profiles.add(tx, env.account.org_id, stored.profile.model_copy(update={"model": "claude-opus-5-5"}), by=BY)
    env.drain(only="agents.%")
    assert (run_of(env, job_id).model, run_of(env, job_id).profile_version) == ("claude-haiku-5-5", 1)


def test_a_canceled_job_ends_its_run(env: MailEnvironment) -> None:
    give_agent(env)
    env.model.order(FaultOrder(operation="messages.create", status=529))
    job_id = env.enqueue("agents.invoke", {"profile": "assistant", "account_id": None})
    assert env.run(job_id) == "queued"
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [job_id], "for the test", by=BY)
    assert (run_of(env, job_id).status, run_of(env, job_id).stopped_by) == (RunStatus.STOPPED, "canceled")


def test_labels_of_our_own_are_never_offered(env: MailEnvironment) -> None:
    env.label("Done")
    ensure_label(env, "Receipts")
    give_agent(env, labels=["Postroom/Done", "Receipts"])
    place = store_letter(env)
    say(env, ("search_mail", {}), ("apply_label", {"thread_id": place.thread_id, "label": "Postroom/Done"}))
    end(env)
    assert refusals(env, run_of(env, invoke(env))) == ["Refused. label: was not offered"]
