"""The preview of a bulk action: how many it is for, whom it would skip, what it would do outside; and the start."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from domain.jobs.failures import Invalid
from gateway.console.derived import typed_in_query
from gateway.console.forms import Field, fields_of, values_of, with_trouble
from gateway.console.frame import sees
from gateway.console.pages import HandPage, Look
from gateway.console.pages.facts import Fact
from gateway.console.pages.jobs.letter import FATES
from gateway.console.shown import money
from operations.jobs.bulk_actions import BulkPreview, preview_bulk_action, start_bulk_action
from operations.operation import checked

OWN = ("reason", "confirm", "per_minute")
"""What the start asks for besides the filter."""


@dataclass(frozen=True, slots=True)
class PreviewPage:
    """What the preview shows: the filter's form, and what an action would do."""

    verb: str
    filter: Sequence[Field]
    trouble: str | None
    found: BulkPreview | None
    sample: Sequence[Fact]
    effects: Sequence[tuple[str, int]]
    cost: str
    typed: Mapping[str, str]
    fields: Sequence[Field]
    """Of the start."""
    may_start: bool
    request_id: UUID


def fill(look: Look) -> PreviewPage:
    """The preview of what the address asks for; without a verb, only the form."""
    typed = {name: value for name, value in typed_in_query(look.request).items() if value.strip()}
    fields, trouble, found = fields_of(preview_bulk_action, typed), None, None
    if typed:
        try:
            given = checked(preview_bulk_action.parameters, values_of(preview_bulk_action, typed))
            found = look.call(preview_bulk_action, **given)
        except Invalid as refusal:
            fields, trouble = with_trouble(fields, refusal)
    start = [one for one in fields_of(start_bulk_action, {}) if one.name in OWN]
    if found is not None and found.confirm is None:
        start = [one for one in start if one.name != "confirm"]
    return PreviewPage(
        verb=typed.get("verb", ""),
        filter=fields,
        trouble=trouble,
        found=found,
        sample=_sample(look, found) if found else (),
        effects=[(FATES[fate], number) for fate, number in found.effects.items()] if found else (),
        cost=money(found.cost_microcents) if found and found.cost_microcents else "",
        typed=typed,
        fields=start,
        may_start=sees(look.frame.visitor, start_bulk_action),
        request_id=uuid4(),
    )


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


def _is_refused(shown: PreviewPage) -> bool:
    return shown.trouble is not None or any(one.trouble for one in shown.filter)


PREVIEW = HandPage(
    path="bulk/preview", title="Bulk action", shown=PreviewPage, fill=fill, needs=preview_bulk_action,
    is_refused=_is_refused, asks=tuple(preview_bulk_action.parameters.model_fields),
)  # fmt: skip
