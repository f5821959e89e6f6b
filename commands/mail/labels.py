"""`celery -A tasks labels`: what the model is told of a mailbox's labels."""

import click

from commands.answers import FleetGroup, json_option, operator, operator_option, show_document, show_rows
from domain.jobs.failures import Gone
from domain.mail.label_description import parse_description
from domain.mail.rule_language.defects import DefectError
from domain.mail.rule_language.label_names import LabelNames
from engine.runtime import runtime
from operations.accounts import account_of
from storage.accounts import labels as stored
from storage.audit import deeds

LINE = ("label_id", "name", "kind", "role", "for_classifier", "description")
account_option = click.option("--account", required=True, help="The mailbox: its id or address.")


@click.group(cls=FleetGroup)
def labels() -> None:
    """See a mailbox's labels, and say what each is for."""


@labels.command("list")
@account_option
@json_option
def list_labels(account: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List the labels as Gmail last listed them, with what their owner says of them."""
    with runtime().database.ledger() as tx:
        found = stored.list_all(tx, account_of(tx, account).account_id)
    show_rows([one.line() for one in found], LINE, as_json=as_json)


@labels.command("describe")
@click.argument("label")
@account_option
@click.option("--description", help="What belongs under the label, in a sentence for the model.")
@click.option("--for-classifier/--not-for-classifier", default=None, help="Whether the model may use it.")
@operator_option
@json_option
def describe_label(
    label: str,
    account: str,
    description: str | None,
    for_classifier: bool | None,  # noqa: FBT001 - a flag of the command line
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Say what a label is for, by its name or id, and whether the model may use it."""
    given = {"description": description, "for_classifier": for_classifier}
    change = parse_description({name: value for name, value in given.items() if value is not None})
    with runtime().database.ledger() as tx:
        found = account_of(tx, account)
        try:
            known = LabelNames.of(one.label for one in stored.list_all(tx, found.account_id))
            label_id = known.id_of(label, ())
        except DefectError as error:
            raise Gone(f"label {error.defects[0].reason}") from None
        after = stored.change_description(tx, found.account_id, label_id, change)
        facts = {"account_id": str(found.account_id), "label_id": label_id} | change.model_dump(exclude_none=True)
        deeds.record(tx, "label.described", facts, by=operator(operator_name), org_id=found.org_id)
    show_document("label", after.line(), as_json=as_json)
