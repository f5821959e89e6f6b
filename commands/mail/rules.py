"""`celery -A tasks rules`: `show` writes YAML, `test` tries a rule on past mail; the rest is made from operations."""

import time
from collections.abc import Sequence
from typing import IO, Any
from uuid import UUID

import click

from commands.answers import json_option, show_json, show_rows, shown
from commands.operations import AREAS, call_of, file_of, show
from domain.jobs.failures import Invalid
from domain.mail.rule_language.rule_file import write_rule_file
from domain.mail.rule_language.rule_words import WrittenRule
from domain.mail.rule_language.rules import Rule
from domain.mail.rule_language.trial import RuleTrial
from engine.runtime import runtime
from operations.mail.accounts import account_of
from operations.mail.rules import read_rule, reader
from storage.mail.accounts.accounts import Account
from storage.mail.rules import kept_rules, trials
from storage.mail.rules.rule_contexts import read_checked
from storage.postgres.database import Database

TRIED = ("received_at", "sender", "subject", "class", "actions", "remark")
rules: click.Group = AREAS.rules


@rules.command("show", help=read_rule.text)
@click.argument("rule_id", type=click.UUID)
@json_option
def show_rule(rule_id: UUID, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Show a rule as YAML."""
    found = read_rule(call_of(None, None), rule_id)
    if as_json or found.rule is None:
        show("rule", found, read_rule, as_json=as_json)
        return
    remark = f"# off: {found.why_off}\n" if found.why_off else ""
    click.echo(shown(remark + write_rule_file([found.rule])), nl=False)


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
    chosen = _chosen(database, rule_id, file, found)
    tried = [
        (rule, trials.try_on_past_mail(database, found.org_id, found.account_id, rule, clock=time.monotonic))
        for rule in chosen
    ]
    if as_json:
        show_json([_tried_document(rule, trial, show_all=show_all) for rule, trial in tried])
        return
    for rule, trial in tried:
        _show_trial(rule, trial, show_all=show_all)


def _chosen(database: Database, rule_id: UUID | None, file: IO[bytes] | None, account: Account) -> list[Rule]:
    """The rules to try; raises `Invalid` for those that only the model can decide."""
    if (rule_id is None) == (file is None):
        raise Invalid("rule_id", "give the id of a saved rule, or --file with rules that are not saved")
    written: Sequence[WrittenRule | None]
    if file is None:
        with database.ledger() as tx:
            written = [kept_rules.get(tx, account.org_id, UUID(str(rule_id))).rule]
    else:
        written = read_checked(database.ledger, account.org_id, account.account_id, reader(file_of(file)))
    chosen = [rule for rule in written if isinstance(rule, Rule)]
    if len(chosen) < len(written):
        raise Invalid("rules", "holds a rule that begins with tell, or is broken: only rules with when can be tried")
    return chosen


def _show_trial(rule: Rule, trial: RuleTrial, *, show_all: bool) -> None:
    ended = "" if trial.complete else "; the time was over before the mail: patterns are large"
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
