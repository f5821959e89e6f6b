"""When the better model is asked after the cheaper one, and when an undecided message is asked about anew."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from domain.mail.triage.classification import MODEL_CLASSES, Decision, DecisionSource, needs_review
from domain.mail.triage.models_asked import LONGEST_NAME, ModelsAsked, decide_by_both, why_ask_again

MODELS = st.builds(ModelsAsked, st.sampled_from(["haiku", "sonnet", "opus", "x" * 400]), st.none() | st.just("cheap"))


@given(MODELS, MODELS)
def test_other_models_have_another_name_and_each_fits_its_column(one: ModelsAsked, other: ModelsAsked) -> None:
    assert (one.name == other.name) is (one == other)
    assert 0 < len(one.name) <= LONGEST_NAME


DECISIONS = st.builds(
    Decision,
    st.just(DecisionSource.LLM),
    st.sampled_from(MODEL_CLASSES),
    st.floats(0, 1),
    st.just("because"),
    needs_reply=st.booleans(),
    needs_review=st.booleans(),
    caution=st.booleans(),
)
ANSWERS = DECISIONS | st.just(needs_review("the model's answer was refused"))
SHARES = st.floats(0, 1)


@given(ANSWERS, SHARES)
def test_a_first_answer_is_taken_only_when_it_is_usable_sure_and_without_caution(
    first: Decision, sure_from: float
) -> None:
    taken = why_ask_again(first, sure_from) is None
    assert taken is (not first.is_undecided and not first.caution and first.confidence >= sure_from)


@given(ANSWERS, SHARES, SHARES)
def test_whoever_wants_to_be_surer_asks_at_least_as_often(first: Decision, one: float, other: float) -> None:
    least, most = sorted((one, other))
    assert why_ask_again(first, least) is None or why_ask_again(first, most) is not None


@given(ANSWERS, ANSWERS)
def test_the_better_model_decides_and_the_first_can_only_add_caution(first: Decision, second: Decision) -> None:
    both = decide_by_both(first, second)
    assert both.caution is (first.caution or second.caution)
    assert replace(both, caution=second.caution) == second
