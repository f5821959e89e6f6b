"""A cheaper model classifies first; the better one is asked where that is unsure, and no answer is paid twice."""

from typing import Any

import pytest

from domain.mail.correspondence import EmailState
from domain.models.money import PROVIDER
from sandbox.emulator.control import FaultOrder, MessagePlace
from storage.mail import decisions
from storage.mail.decisions import PastDecision
from storage.models.money import spending
from tests.doubles.mail_environment import MailEnvironment

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."
CHEAP, BETTER = "claude-haiku-5-5", "claude-sonnet-5-5"
UNSURE = {"input_update": {"confidence": 0.6}}


@pytest.fixture
def env(env: MailEnvironment) -> MailEnvironment:
    """A mailbox, and two models."""
    two = {"classify_first_model": CHEAP, "classify_model": BETTER}
    env.process.settings = env.process.settings.model_copy(update=two)
    env.sync()
    return env


def decided(env: MailEnvironment, place: MessagePlace) -> PastDecision:
    with env.process.database.ledger() as tx:
        (only,) = decisions.of_message(tx, env.account.account_id, place.message_id)
    return only


def waiting_letter(env: MailEnvironment) -> MessagePlace:
    """A question that is stored and not yet classified."""
    place = env.deliver("Lunch?", QUESTION)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    return place


def classify(env: MailEnvironment) -> list[str]:
    """How each attempt ended."""
    return [end for _, end in env.drain(only="triage.%")]


def models_paid(env: MailEnvironment) -> list[tuple[str, bool]]:
    """The models of the classifying calls in order, and whether each was refused."""
    query = "select model, refusal is not null from llm_calls where purpose = 'classify' order by at, id"
    return [(row[0], row[1]) for row in env.database.execute(query)]


def said(env: MailEnvironment) -> list[str]:
    """The models that answered, by the emulator's journal."""
    return [one.summary["model"] for one in env.model.journal("messages.create") if "model" in one.summary]


def output(env: MailEnvironment) -> dict[str, Any]:
    row = env.database.execute("select output from jobs where job_type = 'triage.classify'").fetchone()
    assert row is not None
    found: dict[str, Any] = row[0]
    return found


def is_booked_once(env: MailEnvironment) -> bool:
    """Whether the org's day, the job and the list of calls tell of the same money, and none is set aside."""
    listed = env.count("select sum(cost_microcents) from llm_calls")
    job = env.count("select cost_microcents from jobs where job_type = 'triage.classify'")
    spent = env.count("select spent_microcents + reserved_microcents from budget_days")
    return listed == job == spent > 0


def test_an_answer_that_is_sure_is_taken(env: MailEnvironment) -> None:
    place = waiting_letter(env)
    assert classify(env) == ["succeeded"]
    assert models_paid(env) == [(CHEAP, False)]
    assert decided(env, place).model == CHEAP
    assert "asked_again" not in output(env)


@pytest.mark.parametrize(
    ("answer", "why", "refused"),
    [
        (UNSURE, "the first model was unsure (0.60)", False),
        ({"input_update": {"caution": True}}, "the first model asked for caution", False),
        ({"input_update": {"labels": ["Secret plans"]}}, "the first model gave no answer to use", True),
    ],
)
def test_the_better_model_decides_where_the_first_cannot(
    env: MailEnvironment, answer: dict[str, Any], why: str, *, refused: bool
) -> None:
    place = waiting_letter(env)
    env.say(**answer)
    assert classify(env) == ["succeeded"]
    assert models_paid(env) == [(CHEAP, refused), (BETTER, False)]
    decision = decided(env, place)
    assert (decision.model, decision.classification, decision.undecided_by) == (BETTER, "needs_response", None)
    assert decision.caution is ("caution" in why), "what one of them saw stands"
    assert output(env)["asked_again"] == why
    assert is_booked_once(env)


def test_a_request_that_the_first_model_does_not_take_is_the_better_ones(env: MailEnvironment) -> None:
    place = waiting_letter(env)
    env.model.order(FaultOrder(operation="messages.create", status=400))
    classify(env)
    assert models_paid(env) == [(CHEAP, True), (BETTER, False)]
    assert decided(env, place).model == BETTER
    env.drain()
    assert env.state(place.thread_id) is EmailState.DRAFTED


def test_what_neither_can_decide_is_left_to_its_person_and_not_asked_anew(env: MailEnvironment) -> None:
    place = waiting_letter(env)
    env.model.order(FaultOrder(operation="messages.create", status=400, times=2))
    classify(env)
    env.sync(force_full=True)
    assert models_paid(env) == [(CHEAP, True), (BETTER, True)]
    assert decided(env, place).undecided_by == f"{CHEAP} then {BETTER}, prompt 1"
    assert "Postroom/Action Required" in env.mailbox.state().label_names(place.message_id)


@pytest.mark.parametrize(
    "fault",
    [{"drop": "before"}, {"status": 429, "reason": "rate_limit_error"}, {"status": 529, "reason": "overloaded_error"}],
)
def test_an_answer_lost_between_the_two_calls_is_asked_for_alone(env: MailEnvironment, fault: dict[str, Any]) -> None:
    place = waiting_letter(env)
    env.say(**UNSURE)
    env.model.order(FaultOrder(operation="messages.create", **fault))
    assert classify(env)[-2:] == ["queued", "succeeded"]
    assert models_paid(env) == [(CHEAP, False), (BETTER, False)]
    assert said(env) == [CHEAP, BETTER]
    assert decided(env, place).model == BETTER


def test_an_attempt_that_fails_after_both_answers_pays_for_neither_again(env: MailEnvironment) -> None:
    waiting_letter(env)
    env.say(**UNSURE)
    env.fail("messages.modify", status=503)
    assert classify(env) == ["queued", "succeeded"]
    assert models_paid(env) == [(CHEAP, False), (BETTER, False)]
    assert is_booked_once(env)


def test_a_first_model_that_is_the_better_one_is_asked_once(env: MailEnvironment) -> None:
    env.process.settings = env.process.settings.model_copy(update={"classify_model": CHEAP})
    waiting_letter(env)
    env.say(**UNSURE)
    assert classify(env) == ["succeeded"]
    assert models_paid(env) == [(CHEAP, False)]


def test_money_that_ends_between_the_two_calls_waits_and_pays_for_neither_twice(env: MailEnvironment) -> None:
    place = waiting_letter(env)
    env.say(**UNSURE)
    (job_id,) = env.database.execute("select id from jobs where job_type = 'triage.classify'").fetchone() or ()
    org_id, paid = env.account.org_id, list[int]()
    for power in range(10, 32):
        with env.process.database.ledger() as tx:
            spending.set_daily(tx, org_id, 2**power, PROVIDER, by="ada")
        env.run(job_id)
        paid.append(len(models_paid(env)))
        if paid[-1] == 2:
            break
    assert {0, 1, 2} == set(paid), "there was money for none, then for the first alone, then for both"
    assert models_paid(env) == [(CHEAP, False), (BETTER, False)]
    assert said(env) == [CHEAP, BETTER]
    assert decided(env, place).model == BETTER
    assert is_booked_once(env)
