"""A message that no model could decide: its person sees it, its call is listed, and it is not asked about each hour."""

from typing import Any

import pytest

from domain.mail.correspondence import EmailState
from sandbox.emulator.control import FaultOrder, MessagePlace
from storage.mail import decisions
from storage.mail.decisions import PastDecision
from tests.doubles.mail_environment import MailEnvironment

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."
NEWS = "For your information only."
FULL = {"force_full": True}


def refuse(env: MailEnvironment, times: int | None = 1) -> None:
    """Let the vendor refuse what it is sent."""
    env.model.order(FaultOrder(operation="messages.create", status=400, times=times))


def use_model(env: MailEnvironment, **models: str) -> None:
    env.process.settings = env.process.settings.model_copy(update=models)


def asked(env: MailEnvironment) -> int:
    return len(env.model.journal("messages.create"))


def decided(env: MailEnvironment, place: MessagePlace) -> tuple[PastDecision, ...]:
    with env.process.database.ledger() as tx:
        return decisions.of_message(tx, env.account.account_id, place.message_id)


def labels_of(env: MailEnvironment, place: MessagePlace) -> set[str]:
    """Ours, without their parent."""
    names = env.mailbox.state().label_names(place.message_id)
    return {name.removeprefix("Postroom/") for name in names if name.startswith("Postroom/")}


def calls(env: MailEnvironment) -> list[tuple[Any, ...]]:
    query = "select purpose, stop_reason, refusal, cost_microcents from llm_calls order by at, id"
    return env.database.execute(query).fetchall()


def undecided(env: MailEnvironment, text: str = NEWS) -> MessagePlace:
    """A message whose classification the vendor has refused."""
    env.sync()
    refuse(env)
    place = env.deliver("Lunch" if text == NEWS else "Lunch?", text)
    env.sync()
    return place


UNUSABLE: list[tuple[dict[str, Any], str]] = [
    ({"stop_reason": "refusal"}, "no answer: refusal"),
    ({"input_update": {"labels": ["Secret plans"]}}, "labels: names something that was not offered"),
]


@pytest.mark.parametrize(("answer", "why"), UNUSABLE)
def test_an_answer_that_cannot_be_used_shows_on_the_thread_and_with_its_call(
    env: MailEnvironment, answer: dict[str, Any], why: str
) -> None:
    env.sync()
    env.say(**answer)
    place = env.deliver("Lunch?", QUESTION)
    env.sync()
    assert labels_of(env, place) == {"Action Required"}
    record = env.email(place.thread_id)
    assert (record.state, record.needs_review) == (EmailState.SKIPPED, True)
    ((purpose, _, refusal, cost),) = calls(env)
    assert (purpose, refusal) == ("classify", why)
    assert cost > 0


def test_a_refused_request_shows_too_and_costs_nothing(env: MailEnvironment) -> None:
    place = undecided(env)
    assert labels_of(env, place) == {"Action Required"}
    (decision,) = decided(env, place)
    assert decision.needs_review
    assert "status 400, invalid_request_error" in decision.rationale
    ((_, stop_reason, refusal, cost),) = calls(env)
    assert (stop_reason, cost) == ("refused", 0)
    assert refusal.startswith("messages: status 400")
    assert env.count("select spent_microcents + reserved_microcents from budget_days") == 0


def test_what_a_model_refuses_is_not_asked_anew_by_each_full_sync(env: MailEnvironment) -> None:
    env.sync()
    refuse(env, times=None)
    env.deliver("Lunch?", QUESTION)
    env.sync()
    for _ in range(3):
        env.sync(**FULL)
    assert asked(env) == 1


def test_another_model_is_asked_once_and_its_answer_takes_the_label_off(env: MailEnvironment) -> None:
    place = undecided(env)
    use_model(env, classify_model="claude-sonnet-5-5")
    for _ in range(2):
        env.sync(**FULL)
    assert asked(env) == 2
    latest, first = decided(env, place)
    assert (latest.classification, latest.undecided_by) == ("fyi", None)
    assert first.undecided_by == "claude-haiku-5-5, prompt 1"
    assert labels_of(env, place) == set()


def test_another_model_that_finds_a_question_has_it_drafted(env: MailEnvironment) -> None:
    place = undecided(env, QUESTION)
    use_model(env, classify_model="claude-sonnet-5-5")
    env.sync(**FULL)
    assert env.state(place.thread_id) is EmailState.DRAFTED
    assert labels_of(env, place) == {"Outbox"}


def test_models_that_all_refuse_are_each_asked_once_whatever_the_order(env: MailEnvironment) -> None:
    place = undecided(env)
    refuse(env, times=None)
    for model in ("claude-sonnet-5-5", "claude-haiku-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"):
        use_model(env, classify_model=model)
        env.sync(**FULL)
    assert asked(env) == 2
    assert {one.undecided_by for one in decided(env, place)} == {
        "claude-haiku-5-5, prompt 1",
        "claude-sonnet-5-5, prompt 1",
    }
    assert labels_of(env, place) == {"Action Required"}


def test_a_person_who_asks_for_it_gets_another_look(env: MailEnvironment) -> None:
    place = undecided(env)
    job_id = env.enqueue("triage.classify", {"message_id": place.message_id, "force": True})
    assert env.run(job_id) == "succeeded"
    assert asked(env) == 2
    assert labels_of(env, place) == set()


def test_a_message_that_its_person_has_put_away_is_not_shown_again(env: MailEnvironment) -> None:
    env.sync()
    refuse(env)
    place = env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.mailbox.label_thread(place.thread_id, remove=("INBOX",))
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.drain()
    assert asked(env) == 1
    assert labels_of(env, place) == set()


def test_an_attempt_that_fails_after_the_refusal_neither_asks_nor_decides_anew(env: MailEnvironment) -> None:
    env.sync()
    refuse(env)
    env.fail("messages.modify", status=503)
    place = env.deliver("Lunch?", QUESTION)
    ends = env.sync()
    assert [end for job, end in ends if job == "triage.classify"] == ["queued", "succeeded"]
    assert asked(env) == 1
    assert len(decided(env, place)) == 1
    assert labels_of(env, place) == {"Action Required"}


def test_a_page_of_a_firewall_says_nothing_about_the_message(env: MailEnvironment) -> None:
    """Its job fails, and the message is asked about again."""
    env.sync()
    env.model.order(FaultOrder(operation="messages.create", status=403, body={"page": "blocked"}))
    place = env.deliver("Lunch?", NEWS)
    assert ("triage.classify", "failed") in env.sync()
    assert decided(env, place) == ()
    env.sync(**FULL)
    assert len(decided(env, place)) == 1


def test_a_refused_draft_is_its_persons_and_its_call_is_listed(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.drain(only="triage.%")
    refuse(env, times=None)
    env.drain()
    for _ in range(2):
        env.sync(**FULL)
    assert env.state(place.thread_id) is EmailState.SKIPPED
    assert labels_of(env, place) == {"Action Required"}
    assert [(call[0], call[1]) for call in calls(env)] == [("classify", "tool_use"), ("draft", "refused")]


def test_another_model_whose_answers_come_to_nothing_is_paid_for_less_and_less_often(env: MailEnvironment) -> None:
    undecided(env)
    use_model(env, classify_model="claude-sonnet-5-5")
    env.fail("messages.modify", times=None, status=403, reason="domainPolicy")
    before = asked(env)
    for _ in range(8):
        env.hour_later()
    assert 1 <= asked(env) - before <= len(("the change", 2, 4, 8))


def test_another_model_is_asked_by_the_next_full_sync_of_the_schedule(env: MailEnvironment) -> None:
    undecided(env)
    for _ in range(5):
        env.hour_later()
    assert asked(env) == 1
    use_model(env, classify_model="claude-sonnet-5-5")
    env.sync(force_full=True, reason="full")
    assert asked(env) == 2
