"""An agent's run: each tool, each limit, each refusal, and crashes that pay for nothing twice and do nothing twice."""

from typing import Any

import pytest

from domain.mail.correspondence import EmailState
from domain.models.agents.loop import RunStatus
from sandbox.emulator.control import FaultOrder
from storage.jobs import ledger
from storage.mail import decisions
from storage.mail.actions import actions as stored_actions
from storage.models.agents import profiles
from tests.doubles.agents import (
    BY,
    QUESTION,
    end,
    ensure_label,
    forget_queued,
    give_agent,
    order_run,
    refusals,
    results_shown,
    run_agent,
    run_of,
    say,
    store_letter,
    turns_of,
)
from tests.doubles.mail_environment import MailEnvironment

NEWS = "For your information only."


def asked(env: MailEnvironment) -> int:
    return len(env.model.journal("messages.create"))


def overload(env: MailEnvironment) -> None:
    """Let the model be overloaded the next time it is asked."""
    env.model.order(FaultOrder(operation="messages.create", status=529))


def actions(env: MailEnvironment, message_id: str) -> list[tuple[str, str]]:
    with env.process.database.ledger() as tx:
        found = stored_actions.of_message(tx, env.account.account_id, message_id)
    return [(str(one.kind), one.state) for one in found]


def test_a_question_is_read_and_drafted(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env)
    run = run_agent(env, place)
    assert run.reason == "the agent is done"
    assert (run.status, run.turns, run.stopped_by) == (RunStatus.SUCCEEDED, 3, None)
    assert [[call["tool"] for call in turn.calls] for turn in turns_of(env, run)] == [
        ["read_thread"],
        ["draft_reply"],
        [],
    ]
    row = env.database.execute("select result ->> 'text' from job_steps where name = 'agent_opening'").fetchone()
    assert row is not None
    assert QUESTION in row[0]
    (draft,) = env.mailbox.state().drafts
    assert (draft["thread_id"], draft["ghost"]) == (place.thread_id, False)
    assert env.state(place.thread_id) is EmailState.DRAFTED
    assert env.mailbox.state().label_names(place.message_id) >= {"Postroom/Outbox", "INBOX"}
    assert (
        run.cost_microcents == env.count("select sum(cost_microcents) from llm_calls where purpose = 'agent_turn'") > 0
    )
    assert run.output_preview.startswith("Looked after the thread")
    with env.process.database.ledger() as tx:
        (decision,) = decisions.of_message(tx, env.account.account_id, place.message_id)
    assert (decision.classification, decision.model) == ("needs_response", "claude-haiku-5-5")


def test_the_prompt_cache_holds_what_does_not_change(env: MailEnvironment) -> None:
    env.model.post("/_control/cache", {"minimum_prefix_tokens": 1})
    give_agent(env)
    run_agent(env, store_letter(env))
    usage = [call.summary["usage"] for call in env.model.journal("messages.create")]
    assert usage[0]["cache_read_input_tokens"] == 0
    assert all(later["cache_read_input_tokens"] > usage[0]["cache_creation_input_tokens"] * 0.9 for later in usage[1:])


def test_labels_and_archive_are_done_at_once(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env, "Receipt", "Your order number 5, payment received.")
    run = run_agent(env, place)
    assert run.status is RunStatus.SUCCEEDED
    assert env.mailbox.state().label_names(place.message_id) == {"Receipts", "UNREAD"}
    assert env.sync() == [("gmail.sync", "succeeded")], "our own writes come back as history and change nothing"


def test_a_thread_is_handed_to_a_person(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env, "Odd", NEWS)
    say(env, ("escalate", {"reason": "I was not told about this."}))
    run = run_agent(env, place)
    assert (run.status, run.turns) == (RunStatus.ESCALATED, 1)
    assert "I was not told about this." in run.output_preview
    assert "Postroom/Action Required" in env.mailbox.state().label_names(place.message_id)
    assert env.state(place.thread_id) is EmailState.SKIPPED
    assert asked(env) == 1


def test_a_reply_becomes_an_approval_and_is_never_sent(env: MailEnvironment) -> None:
    give_agent(env, send_allowed=True, tools=["reply"], labels=[], may_reply=True)
    place = store_letter(env)
    say(env, ("reply", {"body": "Noon is fine."}))
    end(env)
    run = run_agent(env, place)
    assert (run.status, run.pending_actions) == (RunStatus.SUCCEEDED, 1)
    assert actions(env, place.message_id) == [("auto_reply", "approved_pending")]
    assert env.gmail.journal("drafts.send") == env.gmail.journal("messages.send") == []


def test_a_reply_is_not_offered_where_the_account_forbids_it(env: MailEnvironment) -> None:
    give_agent(env, tools=["reply"], labels=[], may_reply=True)
    place = store_letter(env)
    say(env, ("reply", {"body": "Noon is fine."}))
    end(env)
    run = run_agent(env, place)
    assert (run.refused_calls, actions(env, place.message_id)) == (1, [])
    assert refusals(env, run) == ["Refused. tool: there is no such tool here"]


def test_automated_mail_gets_no_words(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env, headers={"Auto-Submitted": "auto-generated"})
    say(env, ("draft_reply", {"body": "Hello machine."}))
    end(env)
    assert run_agent(env, place).refused_calls == 1
    assert env.mailbox.state().drafts == []


def test_a_machine_that_answered_in_the_thread_gets_no_words(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env)
    machine = {"Auto-Submitted": "auto-replied"}
    env.deliver("Re: Lunch?", "I am out of office.", thread_id=place.thread_id, headers=machine)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    forget_queued(env)
    say(env, ("draft_reply", {"body": "Enjoy it."}))
    end(env)
    assert "was written by a machine" in refusals(env, run_agent(env, place))[0]
    assert env.mailbox.state().drafts == []


def test_a_search_shows_only_what_the_recipient_has_seen(env: MailEnvironment) -> None:
    give_agent(env)
    store_letter(env, "Vault", "The vault code is 4711.", headers={"From": "Boss <boss@example.com>"})
    known = store_letter(env, "Menu", "The code of the kitchen is soup.")
    place = store_letter(env)
    say(env, ("search_mail", {"query": "code"}), ("read_thread", {"thread_id": known.thread_id}))
    end(env)
    run = run_agent(env, place)
    shown = results_shown(env)
    assert "kitchen" in shown
    assert "4711" not in shown
    assert run.refused_calls == 0


def test_a_search_of_the_whole_account_ends_all_writing(env: MailEnvironment) -> None:
    give_agent(env, search="account")
    store_letter(env, "Vault", "The vault code is 4711.", headers={"From": "Boss <boss@example.com>"})
    place = store_letter(env)
    say(env, ("search_mail", {"query": "vault"}), ("draft_reply", {"body": "It is 4711."}))
    end(env)
    run = run_agent(env, place)
    assert "4711" in results_shown(env)
    assert refusals(env, run) == [
        "Refused. tool: mail from other threads was read that the recipients may not know: a person has to write"
    ]
    assert env.mailbox.state().drafts == []


def test_a_reply_to_address_must_have_seen_the_mail_too(env: MailEnvironment) -> None:
    give_agent(env)
    store_letter(env, "Vault", "The vault code is 4711.")
    place = store_letter(env, headers={"Reply-To": "eve@evil.example"})
    say(env, ("search_mail", {"query": "vault"}))
    end(env)
    run_agent(env, place)
    assert results_shown(env) == "Nothing was found."


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("forward_mail", {"to": "eve@evil.example"}, "tool: there is no such tool here"),
        ("apply_label", {"label": "Postroom/Done"}, "label: was not offered"),
        ("read_thread", {"thread_id": "t-unheard-of"}, "thread_id: is not this thread"),
        ("draft_reply", {"body": "Hi", "to": "eve@evil.example"}, "to: Extra inputs"),
        ("archive", {"thread_id": "another"}, "thread_id: Extra inputs"),
    ],
)
def test_what_was_not_offered_is_answered_as_an_error_and_recorded(
    env: MailEnvironment, tool: str, arguments: dict[str, Any], words: str
) -> None:
    give_agent(env)
    place = store_letter(env, text=NEWS)
    say(env, (tool, arguments))
    end(env)
    run = run_agent(env, place)
    assert (run.status, run.refused_calls) == (RunStatus.SUCCEEDED, 1)
    assert words in refusals(env, run)[0]
    assert env.mailbox.state().label_names(place.message_id) == {"INBOX", "UNREAD"}


@pytest.mark.parametrize(
    ("limits", "stopped_by", "turns"),
    [
        ({"turns": 2}, "turns", 2),
        ({"microcents": 1}, "money", 0),
    ],
)
def test_a_limit_ends_the_run_and_a_person_sees_it(
    env: MailEnvironment, limits: dict[str, int], stopped_by: str, turns: int
) -> None:
    give_agent(env, limits=limits)
    place = store_letter(env)
    say(env, *[("search_mail", {"query": f"word{n}"}) for n in range(3)])
    run = run_agent(env, place)
    assert (run.status, run.stopped_by, run.turns) == (RunStatus.STOPPED, stopped_by, turns)
    assert asked(env) == turns
    assert "Postroom/Action Required" in env.mailbox.state().label_names(place.message_id)
    assert env.job(run.job_id)["state"] == "succeeded"


def test_time_ends_a_run_that_came_back_too_late(env: MailEnvironment) -> None:
    give_agent(env, limits={"seconds": 10})
    place = store_letter(env)
    overload(env)
    job_id = order_run(env, place)
    assert env.run(job_id) == "queued"
    env.database.execute("update agent_runs set worked = '1 minute', worked_until = now()")
    env.drain(only="agents.%")
    run = run_of(env, job_id)
    assert (run.status, run.stopped_by, run.turns) == (RunStatus.STOPPED, "time", 0)


def test_money_is_counted_before_a_call_where_the_bound_is_too_high(env: MailEnvironment) -> None:
    give_agent(env, limits={"microcents": 300_000})
    run = run_agent(env, store_letter(env))
    assert run.status is RunStatus.SUCCEEDED
    assert len(env.model.journal("messages.count_tokens")) > 0


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"stop_reason": "refusal"}, "the model refused to answer"),
        ({"text": "…", "stop_reason": "stop_sequence"}, "the model stopped for a reason that nobody knows"),
        ({"text": "…", "stop_reason": "tool_use"}, "the model said that it calls a tool, and called none"),
    ],
)
def test_an_answer_of_no_use_is_paid_for_and_shown(env: MailEnvironment, answer: dict[str, str], reason: str) -> None:
    give_agent(env)
    place = store_letter(env)
    env.say(**answer)
    run = run_agent(env, place)
    assert (run.status, run.reason, run.turns) == (RunStatus.FAILED, reason, 1)
    assert run.cost_microcents > 0
    assert "Postroom/Action Required" in env.mailbox.state().label_names(place.message_id)
    forget_queued(env)
    env.sync()
    assert asked(env) == 1, "nobody asks anew what the model has refused"


def test_a_model_that_does_not_exist_ends_its_own_run_and_parks_nobody_else(env: MailEnvironment) -> None:
    """One profile names it; every other org's mail goes on."""
    give_agent(env)
    place = store_letter(env)
    env.model.order(FaultOrder(operation="messages.create", status=404))
    run = run_agent(env, place)
    assert (run.status, run.reason) == (RunStatus.FAILED, "the call of the model failed (anthropic.no_such_model)")
    assert "Postroom/Action Required" in env.mailbox.state().label_names(place.message_id)
    assert env.count("select count(*) from gates") == 0


@pytest.mark.parametrize("stop_reason", ["max_tokens", "pause_turn"])
def test_an_answer_that_was_cut_off_is_gone_on_with(env: MailEnvironment, stop_reason: str) -> None:
    give_agent(env)
    env.say(text="I will", stop_reason=stop_reason)
    run = run_agent(env, store_letter(env))
    assert (run.status, run.turns) == (RunStatus.SUCCEEDED, 4)


def test_arguments_that_are_no_object_are_refused(env: MailEnvironment) -> None:
    give_agent(env)
    env.say(tool="archive", input="everything")
    end(env)
    run = run_agent(env, store_letter(env))
    assert refusals(env, run) == ["Refused. arguments: are no JSON object"]


def test_a_second_machine_draft_is_refused(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env)
    say(env, ("draft_reply", {"body": "One."}), ("draft_reply", {"body": "Two."}))
    end(env)
    run = run_agent(env, place)
    assert len(env.mailbox.state().drafts) == 1
    assert "has a draft already" in refusals(env, run)[0]


def test_a_persons_draft_stays_when_the_thread_is_opened_again(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env)
    run_agent(env, place)
    (draft,) = env.mailbox.state().drafts
    env.mailbox.edit_draft(draft["draft_id"], text="My own words.")
    env.database.execute("update emails set state = 'archived'")
    again = env.deliver("Re: Lunch?", "Could you also tell me who comes?", thread_id=place.thread_id)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    forget_queued(env)
    say(env, ("draft_reply", {"body": "Everybody."}))
    end(env)
    run = run_agent(env, again)
    assert "worked on" in refusals(env, run)[0]
    assert len(env.mailbox.state().drafts) == 1


def test_a_message_that_came_meanwhile_makes_the_draft_out_of_date(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env)
    job_id = order_run(env, place)
    overload(env)
    assert env.run(job_id) == "queued"
    env.deliver("Re: Lunch?", "Never mind.", thread_id=place.thread_id)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    say(env, ("draft_reply", {"body": "Noon."}))
    end(env)
    env.drain(only="agents.%")
    run = run_of(env, job_id)
    assert run.status is RunStatus.SUCCEEDED
    assert refusals(env, run) == ["Refused. thread: has changed since this run began"]
    assert env.mailbox.state().drafts == [], "the model was told of the thread as the run began"


@pytest.mark.parametrize("order", [{"drop": "after"}, {"drop": "before"}, {"status": 503, "after_execution": True}])
def test_a_lost_answer_leads_to_one_draft_and_to_no_second_payment(env: MailEnvironment, order: dict[str, Any]) -> None:
    give_agent(env)
    place = store_letter(env)
    env.fail("drafts.create", **order)
    run = run_agent(env, place)
    assert run.status is RunStatus.SUCCEEDED
    assert len(env.mailbox.state().drafts) == 1
    assert asked(env) == run.turns == 3


def test_a_job_that_dies_ends_its_run(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env)
    env.fail("drafts.create", status=400, reason="invalidArgument", times=None)
    run = run_agent(env, place)
    assert env.job(run.job_id)["state"] == "failed"
    assert (run.status, run.turns) == (RunStatus.FAILED, 2)
    assert run.cost_microcents > 0
    assert run.finished_at is not None


def test_a_canceled_job_ends_its_run(env: MailEnvironment) -> None:
    give_agent(env)
    place = store_letter(env)
    job_id = order_run(env, place)
    overload(env)
    assert env.run(job_id) == "queued"
    with env.process.database.ledger() as tx:
        ledger.cancel(tx, [job_id], "for the test", by=BY)
    run = run_of(env, job_id)
    assert (run.status, run.stopped_by) == (RunStatus.STOPPED, "canceled")


def test_an_accounts_own_profile_goes_before_its_orgs(env: MailEnvironment) -> None:
    stored = give_agent(env)
    own = stored.profile.model_copy(update={"prompt": "Only for this mailbox."})
    with env.process.database.ledger() as tx:
        profiles.add(tx, env.account.org_id, own, account_id=env.account.account_id, by=BY)
    run_agent(env, store_letter(env))
    row = env.database.execute("select result ->> 'system' from job_steps where name = 'agent_opening'").fetchone()
    assert row is not None
    assert "Only for this mailbox." in row[0]


def test_labels_of_our_own_are_never_offered(env: MailEnvironment) -> None:
    env.label("Done")
    ensure_label(env, "Receipts")
    give_agent(env, labels=["Postroom/Done", "Receipts"])
    place = store_letter(env, text=NEWS)
    say(env, ("apply_label", {"label": "Postroom/Done"}))
    end(env)
    assert run_agent(env, place).refused_calls == 1
