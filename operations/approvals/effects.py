"""Effects of which nobody knows whether they happened, and what a person found out about one."""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.effects import Strategy
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.orgs.privacy.redaction import redact
from operations.call import Call
from operations.operation import Area, OperatorsOnly, Option, Record
from operations.pages import Page, Window
from storage.approvals import rulings
from storage.approvals.rulings import EffectPosition

EFFECTS = Area("effects", "List effects in doubt, and decide about one whose job does not wait in the dead letters.")
FLEET = OperatorsOnly("it takes a look at the provider, with the fleet's own consent or key")


class UnknownEffectView(Record):
    """An effect of which nobody knows whether it happened."""

    columns: ClassVar = ("org_id", "key", "strategy", "job_type", "job_id", "since", "reason")
    org_id: UUID
    key: str
    strategy: Strategy
    job_type: str | None
    job_id: UUID
    asked_at: datetime = Field(description="When the job first set out to do it.")
    since: datetime = Field(description="Since when nobody knows: the last look at the provider proved nothing.")
    reason: str | None = Field(description="What that look saw.")
    job_state: str | None
    letter_id: UUID | None = Field(description="The dead letter of its job.")


class RuledEffect(Record):
    """What a person found out."""

    key: str
    happened: bool


@EFFECTS.look("list", FLEET, org="optional", looks_back=True)
def list_effects(call: Call, window: Window) -> Page[UnknownEffectView]:
    """List the effects of which nobody knows whether they happened, the newest first."""
    with call.reading() as tx:
        found = rulings.listed(tx, org_id=call.org_id, after=window.after(EffectPosition), limit=window.limit)
    return window.page(
        found.rows,
        UnknownEffectView.model_validate,
        lambda effect: EffectPosition(effect.since, effect.tiebreak),
        reached=found.reached,
    )


@EFFECTS.deed("rule", FLEET, org="required", events=("effect.ruled",))
def rule_effect(
    call: Call,
    key: str,
    *,
    happened: Annotated[
        bool | None, Field(description="What you found at the provider."), Option("--happened/--did-not-happen")
    ] = None,
    result: Annotated[JsonObject | None, Field(description="What an effect that happened gave.")] = None,
) -> RuledEffect:
    """Write down whether an effect in doubt happened. A later replay or retry of its job goes on from there.

    An effect that was ruled to have happened is ruled so once more when its job has said which field of the result it
    needs.
    """
    if happened is None:
        raise Invalid("happened", "say --happened or --did-not-happen")
    if result is not None and not happened:
        raise Invalid("result", "only an effect that happened has a result")
    with call.writing() as tx:
        rulings.rule(tx, call.org, key, happened=happened, result=result or {})
        call.audit(tx, call.org, {"key": key, "happened": happened, "result": redact(result or {})})
    return RuledEffect(key=key, happened=happened)
