"""Errors: the kinds of failure by which jobs ended, since when and how often, and what is known of each."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.console.derived import Listing
from gateway.console.forms import Field, fields_of, values_of
from gateway.console.pages import HandPage, Link, Look
from operations.jobs.failures import FailureGroup, FailureState, list_failure_groups, mark_failure_group
from operations.jobs.jobs import show_job
from operations.operation import checked
from operations.pages import SHOWN_BY_DEFAULT, Window

JOBS_SHOWN = 3
MARKS = (FailureState.KNOWN, FailureState.MENDED, FailureState.NEW)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of failure with where it leads."""

    group: FailureGroup
    href: str
    jobs: Sequence[Link]
    """The newest jobs that ended by it, by their ids."""
    marks: Sequence[Link]
    """What can be said of it: the states, each with the form that says so; none for whoever may not."""

    @property
    def tone(self) -> str:
        """The colour of its state."""
        return {FailureState.NEW: "bad", FailureState.KNOWN: "warn", FailureState.MENDED: "good"}[self.group.state]


@dataclass(frozen=True, slots=True)
class Failures:
    """What the page shows."""

    fields: Sequence[Field]
    kinds: Sequence[Kind]
    listing: Listing
    """The same as a list, for its next page."""


def fill(look: Look) -> Failures:
    """The kinds of failure that fit, those that were seen last first; raises `Invalid` for a filter of no sense."""
    asked = checked(list_failure_groups.parameters, values_of(list_failure_groups, look.asked))
    window = Window(SHOWN_BY_DEFAULT, look.request.query_params.get("cursor") or None)
    found = look.call(list_failure_groups, window, **asked)
    return Failures(
        fields_of(list_failure_groups, look.asked),
        [_kind(look, one) for one in found.items],
        look.table(list_failure_groups, found),
    )


def _kind(look: Look, group: FailureGroup) -> Kind:
    things = look.frame.things
    marks = [one for one in MARKS if one is not group.state] if look.may(mark_failure_group) else []
    return Kind(
        group,
        things.address("fingerprint", group.fingerprint, {}) or "",
        [look.link(str(one), show_job, job_id=one) for one in group.job_ids[:JOBS_SHOWN]],
        [
            look.link(one.value, mark_failure_group, fingerprint=group.fingerprint, state=one, note=group.note)
            for one in marks
        ],
    )


FAILURES = HandPage(
    path="failures", title="Errors", shown=Failures, fill=fill, asks=("state", "code", "job_type"),
    needs=list_failure_groups, key="e", order=2,
)  # fmt: skip
