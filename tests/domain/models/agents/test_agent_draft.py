"""An agent's draft never stands beside another one, and never takes the place of a person's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.correspondence import DRAFT_OUT, SETTLED, EmailState
from domain.mail.thread_plan import DraftStanding
from domain.models.agents.agent_draft import HAS_DRAFT, IN_DOUBT, PERSONS_DRAFT, RecordStep, is_discarded, plan_record

states = st.sampled_from(EmailState)


@given(state=states, is_in_doubt=st.booleans())
def test_an_earlier_attempts_own_draft_is_kept(state: EmailState, is_in_doubt: bool) -> None:
    assert plan_record(state, is_own=True, is_in_doubt=is_in_doubt) is RecordStep.KEEP


@given(state=states, is_in_doubt=st.booleans())
def test_another_draft_or_a_doubt_about_one_forbids_a_draft(state: EmailState, is_in_doubt: bool) -> None:
    if state in DRAFT_OUT or is_in_doubt:
        with pytest.raises(Invalid, match=HAS_DRAFT if state in DRAFT_OUT else IN_DOUBT) as refusal:
            plan_record(state, is_own=False, is_in_doubt=is_in_doubt)
        assert refusal.value.field == "thread"
    else:
        assert (plan_record(state, is_own=False, is_in_doubt=False) is RecordStep.REOPEN) == (state in SETTLED)


@pytest.mark.parametrize("standing", DraftStanding)
def test_only_the_machines_words_are_thrown_away(standing: DraftStanding) -> None:
    if standing in {DraftStanding.NONE, DraftStanding.UNTOUCHED}:
        assert is_discarded(standing) == (standing is DraftStanding.UNTOUCHED)
    else:
        with pytest.raises(Invalid, match=PERSONS_DRAFT):
            is_discarded(standing)
