"""A run that did not end well is a person's, and its actions wait."""

from hypothesis import given
from hypothesis import strategies as st

from domain.mail.actions.kinds import ActionKind, Danger
from domain.mail.actions.label_actions import Star
from domain.mail.actions.requested_action import AutoReply, RequestedAction, Trash
from domain.mail.actions.status import ActionStatus
from domain.mail.correspondence import DRAFT_OUT, EmailState, LabelRole
from domain.mail.thread_plan import ThreadBefore
from domain.mail.triage.classification import Classification
from domain.mail.triage.safety import SafetyEnforcer, SafetyPolicy
from domain.models.agents.ending import LONGEST_PREVIEW, Ending, end_run, waits_for_person
from domain.models.agents.loop import Finish, RunLimit, RunStatus

REPLY = AutoReply(text="Yes.")
STAR = Star()
FINISHES = [
    Finish(RunStatus.SUCCEEDED, "the agent is done"),
    Finish(RunStatus.ESCALATED, "handed over"),
    Finish(RunStatus.STOPPED, "out of turns", RunLimit.TURNS),
    Finish(RunStatus.FAILED, "refused"),
]
finishes = st.sampled_from(FINISHES)
befores = st.sampled_from([None, *EmailState]).map(ThreadBefore)
policies = st.builds(
    SafetyPolicy,
    confidence_floor=st.floats(0, 1),
    always_approve=st.frozensets(st.sampled_from(ActionKind)),
    approve_from=st.sampled_from(Danger),
)
wanted = st.lists(st.sampled_from([REPLY, STAR]), max_size=2, unique=True).map(tuple)


@given(finishes, st.text(max_size=2_000), befores, wanted)
def test_whatever_ends_a_run(
    finish: Finish, said: str, before: ThreadBefore, actions: tuple[RequestedAction, ...]
) -> None:
    ending = end_run(finish, said, before=before, wanted=actions)
    well = finish.status is RunStatus.SUCCEEDED
    assert (LabelRole.ACTION_REQUIRED in ending.plan.labels.add) != well
    assert not ending.plan.discard_draft
    assert not ending.plan.order_draft
    assert [checked.action for checked in ending.actions] == list(actions)
    assert all(one.status is ActionStatus.APPROVED_PENDING for one in ending.actions if one.action == REPLY or not well)
    assert len(ending.preview) <= LONGEST_PREVIEW
    assert ending.decision.needs_review != well
    if before.state in DRAFT_OUT:
        assert ending.plan.record is None, "a draft that is out stays out"
        assert LabelRole.OUTBOX not in ending.plan.labels.remove


@given(action=st.sampled_from([REPLY, STAR, Trash()]), policy=policies)
def test_a_person_is_asked_in_the_run_where_one_would_be_after_it(
    action: RequestedAction, policy: SafetyPolicy
) -> None:
    safety = SafetyEnforcer(policy)
    (checked,) = end_run(FINISHES[0], "", before=ThreadBefore(), wanted=(action,), safety=safety).actions
    assert waits_for_person(action, safety) == (checked.status is ActionStatus.APPROVED_PENDING)
    assert waits_for_person(action, safety) or action.danger is not Danger.DANGEROUS


def ended(finish: Finish, before: ThreadBefore | None = None) -> Ending:
    return end_run(finish, "I could not tell.", before=before or ThreadBefore())


def test_the_decision_says_what_the_message_asks_for() -> None:
    done, escalated, stopped, failed = (ended(finish).decision.classification for finish in FINISHES)
    assert (done, escalated) == (Classification.FYI, Classification.ACTION_REQUIRED)
    assert stopped == failed == Classification.NEEDS_REVIEW
    answered = ended(FINISHES[0], ThreadBefore(EmailState.DRAFTED)).decision
    assert (answered.classification, answered.needs_reply) == (Classification.NEEDS_RESPONSE, True)


def test_a_thread_that_waits_for_words_is_settled_when_a_person_takes_over() -> None:
    assert ended(FINISHES[1], ThreadBefore(EmailState.PENDING)).plan.record is EmailState.SKIPPED
    assert ended(FINISHES[0], ThreadBefore(EmailState.PENDING)).plan.record is None
    assert ended(FINISHES[0]).plan.record is EmailState.SKIPPED


def test_the_reason_of_a_hand_over_is_in_the_record() -> None:
    assert "I could not tell." in ended(FINISHES[1]).decision.rationale
