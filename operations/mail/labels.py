"""Labels: what the model is told of them."""

from typing import Annotated, ClassVar, Literal
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Gone
from domain.mail.rule_language.label_names import LabelNames
from domain.orgs.access.api_keys import Role
from operations.call import Call
from operations.mail.accounts import account_of, target_to_write
from operations.operation import Area, Option, Record, Route, changes_of
from operations.pages import Page
from storage.mail.accounts import labels

LABELS = Area("labels", "See a mailbox's labels, and say what each is for.")
OfAccount = Annotated[UUID, Field(description="The mailbox: its id or address.")]


class LabelView(Record):
    """A label of a mailbox."""

    plural: ClassVar = "labels"

    label_id: str
    name: str
    kind: Literal["system", "user"]
    role: str | None = Field(description="What the label means to us, for those that we made.")
    for_classifier: bool = Field(description="Whether the model may put mail under it.")
    description: str = Field(description="What belongs under it, as the model is told.")


@LABELS.look("list", Route("GET", "/accounts/{account_id}/labels"))
def list_labels(call: Call, *, account_id: OfAccount) -> Page[LabelView]:
    """List a mailbox's labels as Gmail last listed them, with what their owner says of them."""
    with call.reading() as tx:
        account_of(tx, account_id, call.org_id)
        return Page([LabelView(**one.line()) for one in labels.list_all(tx, account_id)], None)


@LABELS.deed(
    "describe",
    Route("PATCH", "/accounts/{account_id}/labels/{label_id}"),
    role=Role.WRITER,
    events=("label.described",),
)
def describe_label(
    call: Call,
    label_id: str,
    *,
    account_id: OfAccount,
    description: Annotated[
        str | None,
        Field(
            max_length=200,
            pattern=r"^[^\x00-\x09\x0b-\x1f\x7f]*$",
            description="What belongs under the label. The model is shown 200 characters; empty: nothing.",
        ),
    ] = None,
    for_classifier: Annotated[
        bool | None,
        Field(strict=True, description="Whether the model may put mail under the label."),
        Option("--for-classifier/--not-for-classifier"),
    ] = None,
) -> LabelView:
    """Say what a label is for, by its id or name, and whether the model may use it."""
    changes = changes_of(description=description, for_classifier=for_classifier)
    with call.writing() as tx:
        org_id = target_to_write(tx, account_id, call.org_id).org_id
        try:
            known = LabelNames.of(one.label for one in labels.list_all(tx, account_id)).id_of(label_id)
        except ValueError as unknown:
            raise Gone(f"label {unknown}") from None
        after = labels.change_description(tx, account_id, known, description=description, for_classifier=for_classifier)
        call.audit(tx, org_id, {"account_id": str(account_id), "label_id": known, **changes})
    return LabelView(**after.line())
