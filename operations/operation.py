"""Declares operations: each is one typed function, from which its command, its route and its documentation follow.

A parameter by position is an argument of the command, and may be an id in the route. A parameter by keyword is an
option of the command; in HTTP it is a filter of a list, or a field of a deed's body. `Annotated[..., Field(...)]` says
what a parameter means, and its bounds. Parameters that several operations share are a `TypedDict`, which each of them
unpacks: `**asked: Unpack[AskedJobs]`. None of these has to be given.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from string import Formatter
from typing import (
    Annotated,
    Any,
    ClassVar,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    TypeVar,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from domain.clean_text import UNSTORABLE, clean_text
from domain.jobs.audit.event_names import EVENT_FACTS
from domain.jobs.contract import first_problem
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.orgs.access.api_keys import Role
from domain.orgs.access.operators import OperatorRole, least_of
from domain.orgs.privacy.redaction import redact_document
from domain.orgs.privacy.secrets import looks_secret
from operations.call import Call
from operations.masking import with_shapes
from operations.pages import Page, Window


class Record(BaseModel):
    """One thing as everybody sees it: the model of HTTP, the document of `--json`, and the row of a table."""

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)
    columns: ClassVar[tuple[str, ...]] = ()
    """The fields that the table of a list shows; all of them when none are named."""
    plural: ClassVar[str] = "items"
    """The field of HTTP's answer in which a list of them stands."""
    values: ClassVar[tuple[str, ...]] = ()
    """The fields that hold what belongs to customers, by their paths: `payload`, `steps.result`; of the members of an
    event's `data.*`, all but the `EVENT_FACTS`. An operator of the console sees their shapes first."""
    shown_once: ClassVar[tuple[str, ...]] = ()
    """The fields with a secret that whoever has asked for it sees this once."""

    def without_secrets(self, mode: Literal["python", "json"] = "python") -> JsonObject:
        """Its fields, without what looks like a secret beside those that are shown once."""
        document = self.model_dump(mode=mode, warnings=False)  # shapes are in the place of values
        return redact_document(document) | {name: document[name] for name in self.shown_once}


P = ParamSpec("P")
Answer = TypeVar("Answer", bound=Record | Page[Any])
WORDS = r"\S"
"""The pattern of a text that says something: a blank one is refused by its field before anything is looked for."""
Reason = Annotated[str | None, Field(pattern=WORDS, max_length=1000, description="Why; the audit log keeps it.")]
REASON = "reason"
WITHOUT_SECRET = "must not carry a secret"  # noqa: S105  # it is what is said of one
DOCUMENT = "document"
"""The parameter that takes the whole body of a request, or a file."""
NamedOrg = Literal["required", "optional", "never"]


@dataclass(frozen=True, slots=True)
class Option:
    """In an annotation: how the command line spells the two sides of a flag, or one of a list: `--on/--off`, `--name`.

    No other option has a name of its own: commands and HTTP call a parameter the same.
    """

    name: str


@dataclass(frozen=True, slots=True)
class File:
    """What the command line reads from a file, in the place of HTTP's JSON document."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Route:
    """How HTTP names an operation. What a deed makes is found at `location`.

    A deed's parameters in `query` stand in the query, not in the body. Where `document` names a schema, the parameter
    of that name takes the whole body as it is, or a `File` from the command line, and the deed checks it.
    """

    verb: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    location: str | None = None
    query: tuple[str, ...] = ()
    document: str | None = None
    status: Literal[200, 201, 202] = 200
    """201 for what is made and has no location, 202 for what a job will do."""

    @property
    def ids(self) -> frozenset[str]:
        """The parameters that the path names."""
        return frozenset(name for _, name, _, _ in Formatter().parse(self.path) if name)


@dataclass(frozen=True, slots=True)
class OperatorsOnly:
    """Why only operators of the fleet may call an operation, and it has no route for API keys."""

    reason: str
    role: OperatorRole | None = None
    """What it takes of an operator in the console, where the role of the operation does not say enough."""


@dataclass(frozen=True, kw_only=True)
class Operation(Generic[P, Answer]):
    """What people and services may ask for, as it was declared. A call checks the caller's role."""

    area: str
    command: str
    function: Callable[Concatenate[Call, P], Answer]
    route: Route | OperatorsOnly
    role: Role
    org: NamedOrg
    """Whether an operator names an org. A caller by HTTP acts for the org of its key."""
    events: tuple[str, ...] = ()
    """What a deed writes into the audit log, one of these; a list and a look write nothing."""
    ledger_audits: bool = False
    """Whether the ledger's own functions write the event, together with the change."""
    keyed: bool = False
    """Whether the route takes an `Idempotency-Key`."""
    many: bool = False
    """Whether the command takes several of its argument, and does the deed for each."""
    looks_back: bool = False
    """Whether a page may end because enough rows were looked at."""

    def __call__(self, call: Call, /, *arguments: P.args, **options: P.kwargs) -> Answer:
        """Do it for the caller; raises `Forbidden` for one whose role does not include the needed role.

        Raises `Invalid` with the field of a text that nobody could keep: PostgreSQL does not say which it was. So it is
        with a secret where a reason is kept, and in what the ledger's functions write into the audit log.
        """
        for name, value in (*zip(self.positional, arguments, strict=False), *options.items()):
            if isinstance(value, str) and clean_text(value) != value:
                raise Invalid(name, UNSTORABLE)
            if isinstance(value, str) and (name == REASON or self.ledger_audits) and looks_secret(value):
                raise Invalid(name, WITHOUT_SECRET)
        is_audited, of_org = self.ledger_audits or not self.events, isinstance(self.route, Route)
        call.begin(
            self.role, self.events, is_audited=is_audited, of_org=of_org,
            least=self.least, is_of_fleet=self.is_of_fleet,
        )  # fmt: skip
        call.check_look()
        answer = self.function(call, *arguments, **options)
        if call.rights is None or not self.record.values:
            return answer
        if not call.shows_values:
            return with_shapes(answer, self.record.values, EVENT_FACTS)
        given = {**dict(zip(self.positional, arguments, strict=False)), **options}
        ids: JsonObject = {name: str(value) for name, value in given.items() if isinstance(value, UUID)}
        call.audit_look(getattr(answer, "org_id", None), {"operation": self.name, **ids})
        return answer

    @property
    def is_of_fleet(self) -> bool:
        """Whether it is about the fleet, and no operator of some orgs may call it."""
        return isinstance(self.route, OperatorsOnly) and self.org == "never"

    @property
    def least(self) -> OperatorRole:
        """The least role of an operator who may call it in the console."""
        named = self.route.role if isinstance(self.route, OperatorsOnly) else None
        return named or least_of(self.role)

    @property
    def name(self) -> str:
        """The function's name, which is the operation's in the description of the API."""
        return self.function.__name__

    @property
    def text(self) -> str:
        """What it does."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def is_list(self) -> bool:
        """Whether it answers with a page of records."""
        return get_origin(self.hints["return"]) is Page

    @property
    def is_paged(self) -> bool:
        """Whether the list is asked for in parts; one that is short by its nature is not."""
        return Window in self.hints.values()

    @property
    def record(self) -> type[Record]:
        """The class of what it answers with."""
        answer = self.hints["return"]
        found: type[Record] = get_args(answer)[0] if self.is_list else answer
        return found

    @cached_property
    def positional(self) -> tuple[str, ...]:
        """The parameters that are arguments of the command, in order."""
        return tuple(name for name, one in self._parameters.items() if one.kind is not one.KEYWORD_ONLY)

    @cached_property
    def parameters(self) -> type[BaseModel]:
        """All parameters as the fields of a model."""
        return self._model(self._parameters)

    @cached_property
    def body(self) -> type[BaseModel] | None:
        """The parameters that stand in the body of a request: those of a deed that its path and query do not name."""
        route = self.route
        if not self.events or (isinstance(route, Route) and route.document):
            return None
        named = {*route.ids, *route.query} if isinstance(route, Route) else set()
        fields = [name for name in self._parameters if name not in named]
        return self._model(fields) if fields else None

    @cached_property
    def hints(self) -> Mapping[str, Any]:
        """The annotation of each parameter, and of the answer."""
        found = get_type_hints(self.function, include_extras=True)
        for name, hint in list(found.items()):
            if get_origin(hint) is Unpack:
                found |= get_type_hints(get_args(found.pop(name))[0], include_extras=True)
        return found

    @property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        signature = inspect.signature(self.function).parameters
        _call, *own = (one for one in signature.values() if one.kind is not one.VAR_KEYWORD)
        shared = [name for name in self.hints if name not in {*signature, "return"}]
        unpacked = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in shared]
        return {one.name: one for one in (*own, *unpacked) if self.hints[one.name] is not Window}

    def _model(self, names: Iterable[str]) -> type[BaseModel]:
        defaults = {name: self._parameters[name].default for name in names}
        fields: dict[str, Any] = {
            name: (self.hints[name], ... if default is inspect.Parameter.empty else default)
            for name, default in defaults.items()
        }
        title = "".join(map(str.capitalize, self.name.split("_")))
        return create_model(f"{title}Request", __config__=ConfigDict(extra="forbid"), **fields)


def checked(model: type[BaseModel], given: Mapping[str, object]) -> dict[str, Any]:
    """The values of parameters, as their types have them; raises `Invalid` with the field and the reason."""
    try:
        found = model.model_validate(given)
    except ValidationError as error:
        raise first_problem(error) from None
    return {name: getattr(found, name) for name in model.model_fields}


def changes_of(**given: object) -> JsonObject:
    """What is to be changed: all that is given; raises `Invalid` where nothing is."""
    found = {name: value for name, value in given.items() if value is not None}
    if not found:
        raise Invalid(next(iter(given)), f"nothing to change is given: {', '.join(given)}")
    return found


@dataclass(frozen=True)
class Area:
    """A thing that people name, such as approvals: the group of its commands, and what can be done with it."""

    name: str
    purpose: str
    org: NamedOrg = "never"
    """Whether an operator names an org, for operations that do not say so."""
    writes: Role = Role.OPERATOR
    """The role that a deed needs which names none."""
    operations: list[Operation[..., Any]] = field(default_factory=list)

    def look(
        self,
        command: str,
        route: Route | OperatorsOnly,
        *,
        role: Role = Role.READER,
        org: NamedOrg | None = None,
        looks_back: bool = False,
    ) -> Callable[[Callable[Concatenate[Call, P], Answer]], Operation[P, Answer]]:
        """Declare a list, or a look at one thing."""
        return self._declare(command, route, role=role, org=org, looks_back=looks_back)

    def deed(  # noqa: PLR0913 - what the table of operations has a column for, and what a route adds
        self,
        command: str,
        route: Route | OperatorsOnly,
        *,
        events: tuple[str, ...],
        role: Role | None = None,
        org: NamedOrg | None = None,
        ledger_audits: bool = False,
        keyed: bool = False,
        many: bool = False,
    ) -> Callable[[Callable[Concatenate[Call, P], Answer]], Operation[P, Answer]]:
        """Declare a deed."""
        return self._declare(
            command, route, events=events, role=role or self.writes, org=org,
            ledger_audits=ledger_audits, keyed=keyed, many=many,
        )  # fmt: skip

    def _declare(
        self,
        command: str,
        route: Route | OperatorsOnly,
        *,
        org: NamedOrg | None,
        **facts: Any,  # noqa: ANN401 - the fields of an operation
    ) -> Callable[[Callable[Concatenate[Call, P], Answer]], Operation[P, Answer]]:
        def declare(function: Callable[Concatenate[Call, P], Answer]) -> Operation[P, Answer]:
            made = Operation(
                area=self.name, command=command, function=function, route=route, org=org or self.org, **facts
            )
            self.operations.append(made)
            return made

        return declare
