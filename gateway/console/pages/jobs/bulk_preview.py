"""The preview of a bulk action: how many it is for, whom it would skip, what it would do outside; and the start."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from domain.jobs.failures import Invalid
from gateway.console.derived import typed_in_query
from gateway.console.forms import fields_of, values_of, with_trouble
from gateway.console.frame import sees
from gateway.console.pages import HandPage, Look
from gateway.console.pages.facts import Fact
from gateway.console.pages.jobs.letter import FATES
from operations.jobs.bulk_actions import BulkPreview, preview_bulk_action, start_bulk_action
from operations.operation import checked

OWN = ("reason", "confirm", "per_minute")
"""What the start asks for besides the filter."""


def fill(look: Look) -> Mapping[str, Any]:
    """The preview of what the address asks for, and the form that starts it; without a verb, only the filter's form."""
    typed = {name: value for name, value in typed_in_query(look.request).items() if value.strip()}
    fields, trouble, found = fields_of(preview_bulk_action, typed), None, None
    if typed:
        try:
            given = checked(preview_bulk_action.parameters, values_of(preview_bulk_action, typed))
            found = look.call(preview_bulk_action, **given)
        except Invalid as refusal:
            fields, trouble = with_trouble(fields, refusal)
    asked = [name for name in OWN if name != "confirm" or (found is not None and found.confirm is not None)]
    return {
        "verb": typed.get("verb", ""),
        "filter": fields,
        "trouble": trouble,
        "is_refused": trouble is not None or any(one.trouble for one in fields),
        "found": found,
        "sample": _sample(look, found) if found else (),
        "effects": [(FATES[fate], number) for fate, number in found.effects.items()] if found else (),
        "typed": typed,
        "fields": [one for one in fields_of(start_bulk_action, {}) if one.name in asked],
        "may_start": sees(look.frame.visitor, start_bulk_action),
        "request_id": uuid4(),
    }


def _sample(look: Look, found: BulkPreview) -> Sequence[Fact]:
    address = look.frame.things.address
    return [
        Fact(
            one.job_type,
            one.reason or str(one.job_id),
            address("job_id", str(one.job_id), {"org_id": one.org_id}),
            one.state,
        )
        for one in found.sample
    ]


PREVIEW = HandPage(
    path="bulk/preview", title="Bulk action", fill=fill, needs=preview_bulk_action,
    asks=tuple(preview_bulk_action.parameters.model_fields),
)  # fmt: skip
