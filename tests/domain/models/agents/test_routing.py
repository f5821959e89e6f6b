"""A message goes to the agent that a rule names, or to the classifier, and never to both."""

from dataclasses import replace

import pytest

from domain.models.agents.loop import RunStatus
from domain.models.agents.routing import TO_AGENT, AgentFacts, route_message

FREE = AgentFacts(has_profile=True, is_enabled=True, account_allows=True)


def test_nothing_in_the_way() -> None:
    assert route_message("desk", FREE) == TO_AGENT


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        (replace(FREE, account_allows=False), "off for this account"),
        (AgentFacts(has_profile=False, account_allows=True), "no profile desk"),
        (replace(FREE, is_enabled=False), "desk is disabled"),
        *((replace(FREE, earlier_run=status), status) for status in RunStatus if status is not RunStatus.RUNNING),
    ],
)
def test_each_obstacle_leads_to_the_classifier_and_is_said(standing: AgentFacts, words: str) -> None:
    routed = route_message("desk", standing)
    assert (routed.to_agent, routed.is_taken) == (False, False)
    assert words in routed.reason


def test_a_message_that_an_agent_is_at_goes_nowhere() -> None:
    routed = route_message("desk", replace(FREE, earlier_run=RunStatus.RUNNING, is_enabled=False))
    assert (routed.to_agent, routed.is_taken) == (False, True)
