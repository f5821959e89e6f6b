"""`celery -A tasks rules`: write rules, try them on past mail, turn them on and off."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, Any
from uuid import UUID

import click

from commands.answers import (
    FleetGroup,
    json_option,
    operator,
    operator_option,
    show_document,
    show_json,
    show_rows,
    shown,
)
from commands.mail.places import Target, account_option, org_option, target_of
from domain.jobs.failures import Invalid
from domain.mail.rule_language.defects import RefusedRules
from domain.mail.rule_language.rule_file import read_rule_file, write_rule_file
from domain.mail.rule_language.rule_words import WrittenRule
from domain.mail.rule_language.trial import RuleTrial
from domain.mail.rule_language.yaml_source import LONGEST_SOURCE
from domain.mail.triage.rules import Rule
from domain.redaction import redact
from engine.runtime import runtime
from operations.accounts import account_of
from storage.audit import deeds
from storage.postgres.database import Transaction
from storage.rules import kept_rules, trials
from storage.rules.kept_rules import KeptRule
from storage.rules.rule_contexts import read_checked

LINE = ("rule_id", "kind", "account_id", "name", "priority", "enabled", "why_off")
STANDARD_INPUT = "<stdin>"
"""The name of a file that has none."""
TRIED = ("received_at", "sender", "subject", "class", "actions", "remark")
rule_argument = click.argument("rule_id", type=click.UUID)
file_argument = click.argument("file", type=click.File("rb"))


@click.group(cls=FleetGroup)
def rules() -> None:
    """Write rules, try them on past mail, turn them on and off."""


@rules.command("add")
@file_argument
@account_option
@org_option
@operator_option
@json_option
def add_rules(
    file: IO[bytes],
    account: str | None,
    org: str | None,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Save the rules of a YAML file, or of standard input for `-`: all of them, or none when one has a mistake."""
    with runtime().database.ledger() as tx:
        place = target_of(tx, account, org)
        written = _read(tx, file, place)
        made = kept_rules.add(tx, place.org_id, place.account_id, written)
        facts = {"rules": [str(one) for one in made], "account_id": place.account_id and str(place.account_id)}
        deeds.record(tx, "rules.added", facts, by=operator(operator_name), org_id=place.org_id)
    lines = [{"rule_id": rule_id, "name": rule.name} for rule_id, rule in zip(made, written, strict=True)]
    show_rows(lines, ("rule_id", "name"), as_json=as_json)


@rules.command("list")
@account_option
@org_option
@click.option("--off", is_flag=True, help="Only those that are off, with the reason.")
@json_option
def list_rules(account: str | None, org: str | None, off: bool, as_json: bool) -> None:  # noqa: FBT001 - flags
    """List the rules of an org, or those that apply to a mailbox."""
    with runtime().database.ledger() as tx:
        place = target_of(tx, account, org)
        found = kept_rules.listed(tx, place.org_id, account_id=place.account_id, enabled=False if off else None)
    show_rows([_line(one) for one in found], LINE, as_json=as_json)


@rules.command("show")
@rule_argument
@json_option
def show_rule(rule_id: UUID, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Show a rule as it is written, so that it can be changed and given to `rules replace`."""
    with runtime().database.ledger() as tx:
        kept = kept_rules.get(tx, kept_rules.org_of(tx, rule_id), rule_id)
    if as_json:
        show_json({**_line(kept), "rule": kept.document})
    elif kept.rule is None:
        show_document("rule", _line(kept), as_json=False)
    else:
        remark = f"# off: {_why_off(kept)}\n" if _why_off(kept) else ""
        click.echo(shown(remark + write_rule_file([kept.rule])), nl=False)


@rules.command("replace")
@rule_argument
@file_argument
@operator_option
@json_option
def replace_rule(rule_id: UUID, file: IO[bytes], operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag
    """Put the rule of a YAML file in the place of one; this is how a rule is mended whose label has vanished."""
    with runtime().database.ledger() as tx:
        org_id = kept_rules.org_of(tx, rule_id)
        written = _read(tx, file, _place_of_rule(tx, org_id, rule_id))
        if len(written) != 1:
            raise Invalid("rules", f"holds {len(written)} rules; one is needed")
        kept_rules.mend(tx, org_id, rule_id, written[0])
        facts = {"rule_id": str(rule_id)}
        deeds.record(tx, "rule.replaced", facts, by=operator(operator_name), org_id=org_id)
        kept = kept_rules.get(tx, org_id, rule_id)
    show_document("rule", _line(kept), as_json=as_json)


@rules.command("enable")
@rule_argument
@operator_option
@json_option
def enable_rule(rule_id: UUID, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag
    """Turn a rule on; refused while it names a label that is not there."""
    _turn(rule_id, operator_name, on=True, reason=None, as_json=as_json)


@rules.command("disable")
@rule_argument
@click.option("--reason", required=True, help="Why; it is shown with the rule.")
@operator_option
@json_option
def disable_rule(rule_id: UUID, reason: str, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag
    """Turn a rule off."""
    _turn(rule_id, operator_name, on=False, reason=reason, as_json=as_json)


@rules.command("remove")
@rule_argument
@operator_option
@json_option
def remove_rule(rule_id: UUID, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag
    """Remove a rule. The audit log keeps it as it was written."""
    with runtime().database.ledger() as tx:
        org_id = kept_rules.org_of(tx, rule_id)
        kept = kept_rules.get(tx, org_id, rule_id)
        kept_rules.remove(tx, org_id, rule_id)
        facts = {"rule_id": str(rule_id), "rule": kept.document}
        deeds.record(tx, "rule.removed", facts, by=operator(operator_name), org_id=org_id)
    show_document("rule", _line(kept) | {"removed": True}, as_json=as_json)


@rules.command("test")
@click.argument("rule_id", type=click.UUID, required=False)
@click.option("--file", type=click.File("rb"), help="Rules that are not saved yet, in YAML; `-` is standard input.")
@click.option("--account", required=True, help="The mailbox on whose mail to try: its id or address.")
@click.option("--all", "show_all", is_flag=True, help="Also the messages that do not match, with the reason.")
@json_option
def try_rules(
    rule_id: UUID | None,
    file: IO[bytes] | None,
    account: str,
    show_all: bool,  # noqa: FBT001 - a flag of the command line
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Show which of a mailbox's last 200 messages a rule would have matched, and what it would have done.

    The rule is saved, or in a file. Nothing is done, and nothing is written.
    """
    database = runtime().database
    with database.ledger() as tx:
        found = account_of(tx, account)
        chosen = _chosen(tx, rule_id, file, Target(found.org_id, found))
    tried = [
        (rule, trials.try_on_past_mail(database, found.org_id, found.account_id, rule, clock=time.monotonic))
        for rule in chosen
    ]
    if as_json:
        show_json([_tried_document(rule, trial, show_all=show_all) for rule, trial in tried])
        return
    for rule, trial in tried:
        _show_trial(rule, trial, show_all=show_all)


def _chosen(tx: Transaction, rule_id: UUID | None, file: IO[bytes] | None, place: Target) -> list[Rule]:
    """The rules to try; raises `Invalid` for those that only the model can decide."""
    if (rule_id is None) == (file is None):
        raise Invalid("rule_id", "give the id of a saved rule, or --file with rules that are not saved")
    written = list(_read(tx, file, place)) if file else [kept_rules.get(tx, place.org_id, UUID(str(rule_id))).rule]
    chosen = [rule for rule in written if isinstance(rule, Rule)]
    if len(chosen) < len(written):
        raise Invalid("rules", "holds a rule that begins with tell, or is broken: only rules with when can be tried")
    return chosen


def _show_trial(rule: Rule, trial: RuleTrial, *, show_all: bool) -> None:
    ended = "" if trial.complete else "; the time was over before the mail: a pattern is slow"
    click.echo(shown(f"{rule.name}: matches {trial.matched} of the last {trial.examined} messages{ended}"))
    lines = [_tried_line(one) for one in trial.shown(show_all=show_all)]
    if lines:
        show_rows(lines, TRIED, as_json=False)


def _tried_document(rule: Rule, trial: RuleTrial, *, show_all: bool) -> dict[str, Any]:
    counts = {"examined": trial.examined, "matched": trial.matched, "complete": trial.complete}
    return {"rule": rule.name, **counts, "messages": trial.shown(show_all=show_all)}


def _tried_line(one: dict[str, Any]) -> dict[str, Any]:
    actions = [f"{each['kind']}: {each['status']}{_because(each['reasons'])}" for each in one["actions"]]
    remarks = [text for text in (one["reason"], one["note"], one["route"] and f"goes to {one['route']}") if text]
    return {
        "received_at": one["received_at"],
        "sender": one["sender"],
        "subject": one["subject"],
        "class": one["classification"],
        "actions": "\n".join(actions),
        "remark": "\n".join(remarks),
    }


def _because(reasons: list[str]) -> str:
    return f" ({'; '.join(reasons)})" if reasons else ""


def _turn(rule_id: UUID, operator_name: str, *, on: bool, reason: str | None, as_json: bool) -> None:
    with runtime().database.ledger() as tx:
        org_id = kept_rules.org_of(tx, rule_id)
        kept_rules.turn(tx, org_id, rule_id, on=on, reason=reason)
        event, facts = ("rule.enabled", {}) if on else ("rule.disabled", {"reason": reason})
        facts |= {"rule_id": str(rule_id)}
        deeds.record(tx, event, facts, by=operator(operator_name), org_id=org_id)
        kept = kept_rules.get(tx, org_id, rule_id)
    show_document("rule", _line(kept), as_json=as_json)


def _read(tx: Transaction, file: IO[bytes], place: Target) -> tuple[WrittenRule, ...]:
    """The rules of a file, of which no more is read than may be taken."""
    read = partial(read_rule_file, file.read(LONGEST_SOURCE + 1), getattr(file, "name", STANDARD_INPUT))
    with _mistakes_by_line():
        return read_checked(tx, place.org_id, place.account_id, read)


def _place_of_rule(tx: Transaction, org_id: UUID, rule_id: UUID) -> Target:
    account_id = kept_rules.get(tx, org_id, rule_id).account_id
    return Target(org_id, account_of(tx, str(account_id)) if account_id else None)


@contextmanager
def _mistakes_by_line() -> Iterator[None]:
    """End the command with a line for each mistake."""
    try:
        yield
    except RefusedRules as refusal:
        raise click.ClickException("\n".join(shown(redact(line)) for line in refusal.lines)) from None


def _line(kept: KeptRule) -> dict[str, Any]:
    return {
        "rule_id": kept.rule_id,
        "kind": kept.kind,
        "account_id": kept.account_id,
        "name": kept.name,
        "priority": kept.rule.priority if isinstance(kept.rule, Rule) else None,
        "enabled": kept.enabled,
        "why_off": _why_off(kept),
    }


def _why_off(kept: KeptRule) -> str | None:
    return f"cannot be read: {kept.broken}" if kept.broken else kept.disabled_reason
