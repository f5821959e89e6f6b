"""`celery -A tasks effects`: list outside effects that nobody knows of, and say what a person found out about one."""

import click

from commands.answers import (
    FleetGroup,
    json_object,
    json_option,
    operator,
    operator_option,
    show_document,
)
from commands.looking import before_option, org_option, show_looked, time_of
from domain.jobs.failures import Invalid
from engine.runtime import runtime
from storage.doubts import rulings
from storage.ledger import orgs

LINE = ("org_id", "key", "strategy", "job_type", "job_id", "since", "reason")


@click.group(cls=FleetGroup)
def effects() -> None:
    """List effects in doubt, and decide about one whose job does not wait in the dead letters."""


@effects.command("list")
@org_option
@before_option
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many at most.")
@json_option
def list_effects(org: str | None, before: str | None, limit: int, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List the effects of which nobody knows whether they happened, the newest first."""
    with runtime().database.ledger() as tx:
        found = rulings.listed(tx, org_id=orgs.find_named(tx, org), before=time_of(before), limit=limit)
    show_looked(found, LINE, limit=limit, as_json=as_json)


@effects.command("rule")
@click.argument("key")
@click.option("--org", required=True, help="The org's id or name.")
@click.option("--happened/--did-not-happen", default=None, help="What you found at the provider.")
@click.option("--result", help="What an effect that happened gave: a JSON object, or - for standard input.")
@operator_option
@json_option
def rule_effect(
    key: str,
    org: str,
    happened: bool | None,  # noqa: FBT001 - a flag of the command line
    result: str | None,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Write down whether an effect in doubt happened. A later replay or retry of its job goes on from there."""
    if happened is None:
        raise Invalid("happened", "say --happened or --did-not-happen")
    if result is not None and not happened:
        raise Invalid("result", "only an effect that happened has a result")
    gave = json_object(result, "result") if result is not None else {}
    with runtime().database.ledger() as tx:
        rulings.rule(tx, orgs.find(tx, org), key, happened=happened, result=gave, by=operator(operator_name))
    show_document("effect", {"key": key, "happened": happened}, as_json=as_json)
