"""What a payload class declares of its job type, checked when the class is defined."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import BaseModel

from domain.jobs.contract import JOB_TYPE_PATTERN, LONGEST_JOB_TYPE
from domain.jobs.job import JsonObject
from domain.jobs.uniqueness import Unique

Upcast = Callable[[JsonObject], JsonObject]
"""Turns a stored payload of one version into the next, and leaves its argument alone."""

ORG = "org_id"
"""What `serial_by` names where all jobs of an org count together: no payload has it as a field, a job has its org."""
JOB_TYPE = re.compile(r"[a-z_]+\.[a-z_]+")
"""The file of the handler, a dot, and the handler's own name."""


class KeptWords(NamedTuple):
    """What people write, which a payload never carries: it may look like a secret, and every list of jobs shows it.

    A caller may give it in the place of the field; where the job is enqueued, a row takes it in and the field its id
    (`storage.jobs.payload_names`).
    """

    field: str
    model: type[BaseModel]


@dataclass(frozen=True, slots=True)
class Declaration:
    """The facts of a job type that its payload class holds; its handler has queue, deadline and retries."""

    job_type: str
    aliases: tuple[str, ...] = ()
    """Other names under which the job type is accepted."""
    version: int = 1
    """The version of the payload's shape."""
    upcasts: Mapping[int, Upcast] = field(default_factory=dict)
    """By version: the function that leads from it to the next."""
    unique: Unique | None = None
    """When a second job is refused; by default never."""
    serial_by: str | None = None
    """The field of whose values each has at most `serial_limit` jobs running at once; or `ORG`."""
    serial_limit: int = 1
    words: KeptWords | None = None
    """What a caller may give in the place of a row's id."""
    asked_by: str | None = None
    """How services ask for what the job does: its row was decided on before, so they enqueue no such job."""

    def check(self, fields: Collection[str]) -> None:
        """Raise with the job type, the keyword and the reason when the facts do not fit the payload's fields.

        `TypeError` for a value of another type than the keyword's, `ValueError` for anything else.
        """
        self._check_types()
        self._check_names()
        if self.serial_limit < 1 or (self.serial_limit > 1 and self.serial_by is None):
            raise ValueError(f"{self.job_type}: a serial_limit needs serial_by and is at least 1")
        for option, named in (
            ("unique", (self.unique and self.unique.fields) or ()),
            ("serial_by", (None if self.serial_by == ORG else self.serial_by,)),
            ("words", (self.words and self.words.field,)),
        ):
            for name in named:
                if name is not None and name not in fields:
                    raise ValueError(f"{self.job_type}: {option} names {name}, which is no field of the payload")
        self._check_upcasts()

    def _check_types(self) -> None:
        """Type checkers see most of these mistakes; a class is defined without one too."""
        functions = isinstance(self.upcasts, Mapping) and all(map(callable, self.upcasts.values()))
        wanted = (
            ("aliases", _are(str, self.aliases), "a tuple of str"),
            ("version", type(self.version) is int, "an int"),
            ("upcasts", functions and _are(int, tuple(self.upcasts)), "a mapping of versions to functions"),
            (
                "unique",
                isinstance(self.unique, Unique | None),
                "made by while_queued(), while_active() or for_ttl()",
            ),
            ("serial_by", isinstance(self.serial_by, str | None), "the name of a field"),
            ("serial_limit", type(self.serial_limit) is int, "an int"),
            ("words", isinstance(self.words, KeptWords | None), "made by Words()"),
            ("asked_by", isinstance(self.asked_by, str | None), "a str"),
        )
        for keyword, fits, kind in wanted:
            if not fits:
                raise TypeError(f"{self.job_type}: {keyword} must be {kind}, not {getattr(self, keyword)!r}")

    def _check_names(self) -> None:
        if not JOB_TYPE.fullmatch(self.job_type):
            raise ValueError(f"{self.job_type!r} is no name of a job type: write <file>.<function>, in lower case")
        for name in (self.job_type, *self.aliases):
            if not re.fullmatch(JOB_TYPE_PATTERN, name) or len(name) > LONGEST_JOB_TYPE:
                raise ValueError(f"{self.job_type}: {name!r} is refused by the job contract as a name of a job type")

    def _check_upcasts(self) -> None:
        if self.version < 1:
            raise ValueError(f"{self.job_type}: versions are counted from 1, and {self.version} is given")
        needed, given = set(range(1, self.version)), set(self.upcasts)
        if needed - given:
            raise ValueError(f"{self.job_type}: no upcast from version {min(needed - given)}")
        if given - needed:
            raise ValueError(f"{self.job_type}: an upcast from version {max(given - needed)} leads nowhere")


def _are(kind: type, values: object) -> bool:
    """Whether the values are a tuple of one type."""
    return isinstance(values, tuple) and all(type(value) is kind for value in values)
