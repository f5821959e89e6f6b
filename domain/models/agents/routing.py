"""Who takes a new message over: the agent that a rule names, or the classifier."""

from dataclasses import dataclass

from domain.models.agents.loop import RunStatus


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """What is known of an agent at a message, when a rule names it."""

    has_profile: bool
    is_enabled: bool = False
    account_allows: bool = False
    """Whether the account's owner has turned agents on (`agent_enabled`)."""
    earlier_run: RunStatus | None = None
    """Where another job's run on the same message stands, or how it ended; None without one."""


@dataclass(frozen=True, slots=True)
class Routed:
    """Where a message goes, and why where the agent does not get it."""

    to_agent: bool
    reason: str = ""
    is_taken: bool = False
    """Whether an agent has the message already, so that nobody else is to take it."""


TO_AGENT = Routed(to_agent=True)


def route_message(agent: str, standing: AgentFacts) -> Routed:
    """Whether the agent that a rule names takes the message; an obstacle leads to the classifier, and is said.

    An agent has one run per message. A message whose run failed would otherwise be paid for again by each full sync.
    """
    if standing.earlier_run is RunStatus.RUNNING:
        return Routed(to_agent=False, reason=f"a run of {agent} is under way", is_taken=True)
    for applies, reason in (
        (not standing.account_allows, "agents are off for this account"),
        (not standing.has_profile, f"there is no profile {agent}"),
        (not standing.is_enabled, f"the profile {agent} is disabled"),
        (standing.earlier_run is not None, f"a run of {agent} has ended: {standing.earlier_run}"),
    ):
        if applies:
            return Routed(to_agent=False, reason=reason)
    return TO_AGENT
