"""What people write as a definition, read; all its faults at once, each with its place and the reason."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.payloads.payload import Payload, payload_types
from domain.payloads.registry import Registry
from domain.workflows.definition import Definition

FindWorkflow = Callable[[str], Definition | None]
"""The newest version of another workflow of the org; the same name gives the same answer."""


class Form(StrEnum):
    """How a definition is written."""

    YAML = "yaml"
    JSON = "json"


class Fault(NamedTuple):
    """One fault of a definition."""

    pointer: str
    """JSON pointer (RFC 6901) of the value; empty: the whole document."""
    reason: str
    line: int | None = None
    """From 1; None where the document came as values."""


class Faults(Invalid):
    """A definition that is refused, with all its faults in the order of the document."""

    def __init__(self, *faults: Fault) -> None:
        """The first fault is the failure's own field and reason; `faults` are all."""
        first, more = faults[0], len(faults) - 1
        super().__init__(first.pointer or "definition", first.reason + (f" (and {more} more)" if more else ""))
        self.faults = faults


class Checked(NamedTuple):
    """A definition without a fault, and the document that is saved."""

    definition: Definition
    document: JsonObject


def read(text: bytes, form: Form, find: FindWorkflow, types: Registry[type[Payload]] = payload_types) -> Checked:
    """Read a file; raises `Faults`."""
    raise NotImplementedError


def check(document: object, find: FindWorkflow, types: Registry[type[Payload]] = payload_types) -> Checked:
    """Check a document that came as JSON values; raises `Faults`."""
    raise NotImplementedError
