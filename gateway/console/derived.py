"""The pages of operations, made from their declarations: a list, a look, and a deed with its form."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from domain.instants import written
from domain.jobs.failures import Conflict, Failure, Forbidden, Gone, Invalid
from domain.jobs.job_request import fingerprint
from domain.orgs.access.operators import SEES_VALUES
from gateway.console.forms import fields_of, values_of, with_trouble
from gateway.console.frame import CURSOR, DONE, FRAME_FIELDS, VALUES, Frame, frame_of, reading_call, sees
from gateway.console.rendering import page
from gateway.console.shown import TONES, Entry, Line, columns_of, document_of, entries_of, in_words, line_of
from gateway.console.things import LIST, ORG, SHOW, AnyOperation, area_of, look_at, look_of, operation_of
from gateway.console.visitors import TOKEN, Visitor
from gateway.http.resources import resources_of
from operations.operation import Record, Route, checked
from operations.pages import LONGEST_CURSOR, SHOWN_BY_DEFAULT, Page, Window
from operations.repeated_requests import KeyedRequest
from providers.artifacts.obstore_store import ObstoreArtifacts

CONFIRMED, REQUEST = "confirmed", "request"
"""Fields of a deed's form: whether its confirmation was read, and what tells one press from the next."""
NOT_TYPED = frozenset({ORG, TOKEN, CONFIRMED, REQUEST})
TAKES_AWAY = frozenset({"delete", "remove", "discard", "erase", "disconnect", "deny", "cancel", "close", "revoke"})
"""Commands whose button says by its colour that something ends."""
NEEDS_ORG = Invalid("org", "choose the org first")


@dataclass(frozen=True, slots=True)
class Step:
    """Words that lead to a page: to that of an operation, from the page of a thing or of a list."""

    words: str
    href: str
    text: str = ""
    takes_away: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """What a list has answered."""

    columns: Sequence[str]
    lines: Sequence[Line]
    next_href: str | None
    looked_back_to: str | None


def found_operation(visitor: Visitor, area: str, command: str) -> AnyOperation:
    """The operation of a page; raises `Gone` where there is none, `Forbidden` for whoever may not call it."""
    found = operation_of(area, command)
    if found is None:
        raise Gone(f"there is no page {area}/{command}")
    if not sees(visitor, found):
        raise Forbidden(f"an operator of the role {visitor.role.value} may not do this; it takes {found.least.value}")
    return found


def name_of(operation: AnyOperation) -> str:
    """What the page of an operation is called: of a look, what it shows."""
    words = in_words(operation.name)
    return words if operation.events else words.removeprefix("list ").removeprefix("show ").removeprefix("read ")


def area_page(request: Request, visitor: Visitor, name: str) -> Response:
    """The list of an area; where it has none, what can be done in it."""
    area = area_of(name)
    if area is None:
        raise Gone(f"there is no page {name}")
    for command in (LIST, SHOW):
        first = operation_of(name, command)
        if first is not None and (command == LIST or not first.positional):
            return operation_page(request, visitor, name, command)
    frame = frame_of(request, visitor)
    steps = [step_to(frame, one, {}) for one in area.operations if sees(visitor, one)]
    return page("area.html", frame=frame, area=area, steps=steps)


def operation_page(request: Request, visitor: Visitor, area: str, command: str) -> Response:
    """The page of an operation: what it lists or shows, or the form of a deed."""
    operation, typed = found_operation(visitor, area, command), typed_in_query(request)
    frame = frame_of(request, visitor)
    if operation.events:
        return form_page(frame, operation, typed)
    answer, failure, absence = None, None, ""
    try:
        refuse_unknown(operation.parameters.model_fields, request)
        answer = _answer(request, operation, frame, typed)
    except Invalid as refusal:
        failure = refusal
    except Gone as nothing:
        # What an org has one of may not be there yet: the page of its area says so, and offers to make it.
        if operation.positional:
            raise
        absence = nothing.reason
    fields = fields_of(operation, typed)
    is_asked = failure is not None and (typed or not any(one.is_required for one in fields))
    is_asked = is_asked and failure is not NEEDS_ORG
    fields, trouble = with_trouble(fields, failure) if failure is not None and is_asked else (fields, None)
    return _page(
        "list.html" if operation.is_list else "look.html",
        frame,
        operation,
        HTTPStatus.UNPROCESSABLE_ENTITY if is_asked else HTTPStatus.OK,
        fields=fields,
        trouble=trouble,
        absence=absence,
        needs_org=failure is NEEDS_ORG,
        done=done_of(request, operation),
        values_href=values_href(request, frame, operation) if answer is not None else None,
        **_shown(request, frame, operation, answer, typed),
    )


def _shown(
    request: Request, frame: Frame, operation: AnyOperation, answer: object, typed: Mapping[str, str]
) -> dict[str, Any]:
    """What the template of a list or a look says of the answer."""
    if operation.is_list:
        listing = listing_of(request, frame, operation, answer) if isinstance(answer, Page) else None
        return {"listing": listing, "steps": steps_of_list(frame, operation, typed)}
    entries = entries_of(answer, frame.things) if isinstance(answer, Record) else []
    # A look at values is audited: it is not repeated while somebody looks.
    is_busy = TONES.get(str(getattr(answer, "state", ""))) == "busy" and VALUES not in request.query_params
    watched = typed.get(operation.positional[0]) if is_busy and len(operation.positional) == 1 else None
    return {"entries": entries, "steps": steps_of_thing(frame, operation, answer, typed), "watched": watched}


def typed_in_query(request: Request) -> dict[str, str]:
    """What the query says of the operation's parameters; several of a name are lines."""
    typed: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in FRAME_FIELDS:
            typed[name] = f"{typed[name]}\n{value}" if name in typed else value
    return typed


def form_page(
    frame: Frame, operation: AnyOperation, typed: Mapping[str, str], failure: Failure | None = None
) -> Response:
    """The form of a deed; with a failure, the reason at its field and all that was typed."""
    fields = fields_of(operation, typed)
    fields, trouble = (fields, None) if failure is None else with_trouble(fields, failure)
    status = HTTPStatus.OK
    if failure is not None:
        status = HTTPStatus.CONFLICT if isinstance(failure, Conflict) else HTTPStatus.UNPROCESSABLE_ENTITY
    of_org = isinstance(failure, Invalid) and failure.field in {"org", "org_id"}
    return _page(
        "deed.html",
        frame,
        operation,
        status,
        fields=fields,
        trouble=None if of_org else trouble,
        org_trouble=failure.reason if of_org and failure is not None else None,
        back=_back(frame, operation, typed),
    )


def do_deed(request: Request, visitor: Visitor, operation: AnyOperation, form: Mapping[str, str]) -> Response:
    """Answer the form of a deed: with its troubles, with what will happen, or by doing it."""
    frame = frame_of(request, visitor, form.get(ORG))
    typed = {name: value for name, value in form.items() if name not in NOT_TYPED}
    try:
        if frame.needs_org(operation):
            raise NEEDS_ORG
        call = visitor.call(request, frame.org_id)
        given = checked(operation.parameters, values_of(operation, typed))
        if form.get(CONFIRMED) != "yes":
            return _confirmation(frame, operation, typed)
        if operation.keyed and form.get(REQUEST):
            asked = {"operation": operation.name, "typed": dict(sorted(typed.items()))}
            call.keyed = KeyedRequest(form[REQUEST][:100], fingerprint(asked))
        settings = resources_of(request).settings
        call.remove_files = lambda places: ObstoreArtifacts(settings.artifacts_url).delete(places)
        window = {"window": Window(SHOWN_BY_DEFAULT)} if operation.is_paged else {}
        answer = operation(call, **window, **given)
    except (Invalid, Conflict) as failure:
        return form_page(frame, operation, typed, failure)
    target = _after(frame, operation, answer)
    if target is not None:
        return RedirectResponse(target, HTTPStatus.SEE_OTHER)
    return _result(frame, operation, answer)


def _page(
    template: str,
    frame: Frame,
    operation: AnyOperation,
    status: int = HTTPStatus.OK,
    **values: Any,  # noqa: ANN401 - as a template takes them
) -> Response:
    """A page of an operation."""
    takes_away = operation.command in TAKES_AWAY
    return page(
        template, status, frame=frame, operation=operation, name=name_of(operation), takes_away=takes_away, **values
    )


def _confirmation(frame: Frame, operation: AnyOperation, typed: Mapping[str, str]) -> Response:
    """What will happen, in the operation's own words, with everything that was typed."""
    said = [one for one in fields_of(operation, typed) if one.value]
    return _page(
        "confirm.html",
        frame,
        operation,
        fields=said,
        typed=typed,
        request_id=uuid4(),
        back=frame.things.page(operation, typed),
    )


def _result(frame: Frame, operation: AnyOperation, answer: object) -> Response:
    """What a deed answers that no page shows afterwards, such as a link that is shown once."""
    records: list[Any] = list(answer.items) if isinstance(answer, Page) else [answer]
    listing = Listing(columns_of(operation.record), [line_of(one, frame.things, None) for one in records], None, None)
    entries: Sequence[Entry] = entries_of(records[0], frame.things) if not isinstance(answer, Page) else ()
    return _page("result.html", frame, operation, listing=listing, entries=entries)


def _answer(request: Request, operation: AnyOperation, frame: Frame, typed: Mapping[str, str]) -> Any:  # noqa: ANN401 - a record or a page
    if frame.needs_org(operation):
        raise NEEDS_ORG
    given = checked(operation.parameters, values_of(operation, typed))
    cursor = request.query_params.get(CURSOR)
    if cursor is not None and len(cursor) > LONGEST_CURSOR:
        raise Invalid(CURSOR, "is no cursor of this list")
    window = {"window": Window(SHOWN_BY_DEFAULT, cursor or None)} if operation.is_paged else {}
    return operation(reading_call(request, frame.visitor, frame.org_id), **window, **given)


def refuse_unknown(known: Iterable[str], request: Request) -> None:
    """Raise `Invalid` for a field of the query that the page does not know."""
    fields = sorted(known)
    for name in request.query_params:
        if name not in {*fields, *FRAME_FIELDS}:
            raise Invalid(name, f"is no field of this page: it has {', '.join(fields) or 'none'}")


def listing_of(request: Request, frame: Frame, operation: AnyOperation, answer: Page[Any]) -> Listing:
    """What a list has answered, each line with the page of its thing."""
    look = look_of(operation.area, operation.record)
    seen = look is not None and sees(frame.visitor, look)
    lines = [
        line_of(one, frame.things, frame.things.page_of(look, document_of(one)) if look and seen else None)
        for one in answer.items
    ]
    next_href = None
    if answer.next_cursor:
        others = [(name, value) for name, value in request.query_params.multi_items() if name not in {CURSOR, DONE}]
        next_href = f"{request.url.path}?{urlencode([*others, (CURSOR, answer.next_cursor)], errors='replace')}"
    looked = written(answer.looked_back_to) if answer.looked_back_to else None
    return Listing(columns_of(operation.record), lines, next_href, looked)


def steps_of_list(frame: Frame, operation: AnyOperation, typed: Mapping[str, str]) -> list[Step]:
    """What can be done from a list: whatever is about none of its lines, or about lines that have no page."""
    names = set(operation.record.model_fields) if operation_of(operation.area, SHOW) is not None else set()
    return [
        step_to(frame, one, {name: typed[name] for name in one.positional if name in typed})
        for one in _others(frame, operation)
        if operation.command == LIST and one.command != SHOW and not (one.positional and set(one.positional) <= names)
    ]


def steps_of_thing(frame: Frame, operation: AnyOperation, answer: object, typed: Mapping[str, str]) -> list[Step]:
    """What can be done with a thing, and what else can be seen of it."""
    if operation.positional and not isinstance(answer, Record):
        return []
    known = {**typed, **(document_of(answer) if isinstance(answer, Record) else {})}
    return [
        step_to(frame, one, {name: known[name] for name in one.positional}, known.get("org_id"))
        for one in _others(frame, operation)
        if set(one.positional) <= known.keys() and (one.positional or not operation.positional)
    ]


def _others(frame: Frame, operation: AnyOperation) -> Sequence[AnyOperation]:
    area = area_of(operation.area)
    found = area.operations if area is not None else []
    return [one for one in found if one is not operation and one.command != LIST and sees(frame.visitor, one)]


def step_to(frame: Frame, operation: AnyOperation, given: Mapping[str, object], org_id: object = None) -> Step:
    """A link to an operation about the thing that is named by these parameters."""
    href = frame.things.page(operation, given, org_id if operation.org != "never" else None)
    words = in_words(operation.command)
    return Step(words[:1].upper() + words[1:], href, operation.text, operation.command in TAKES_AWAY)


def _back(frame: Frame, operation: AnyOperation, typed: Mapping[str, str]) -> str:
    """The page from which a deed was asked for: its thing's, or the list."""
    look = operation_of(operation.area, SHOW)
    if look is not None and look.positional and all(typed.get(name) for name in look.positional):
        return frame.things.page(look, {name: typed[name] for name in look.positional})
    return frame.address(operation.area)


def _after(frame: Frame, operation: AnyOperation, answer: object) -> str | None:
    """Where a deed leads: to what it made, to its thing, or to the list; None where no page shows what it answers."""
    if not isinstance(answer, Record):
        return None
    document, route = document_of(answer), operation.route
    done = {DONE: operation.command}
    made = look_at(route.location) if isinstance(route, Route) and route.location else None
    if made is not None and set(made.positional) <= document.keys():
        return _with(frame.things.page_of(made, document), done if made.area == operation.area else {})
    shown = set(type(answer).model_fields)
    look, listed = look_of(operation.area, type(answer)), operation_of(operation.area, LIST)
    is_gone = isinstance(route, Route) and route.verb == "DELETE"
    if look is not None and not is_gone and shown <= set(look.record.model_fields):
        return _with(frame.things.page_of(look, document), done)
    if listed is not None and not listed.positional and (is_gone or shown <= set(listed.record.model_fields)):
        return _with(frame.address(operation.area), done)
    return None


def _with(address: str, more: Mapping[str, str]) -> str:
    if not more:
        return address
    return f"{address}{'&' if '?' in address else '?'}{urlencode(more)}"


def values_href(request: Request, frame: Frame, operation: AnyOperation) -> str | None:
    """Where the values are, of which the page has the shapes; None where it has none, or they are shown already."""
    is_shown = bool(request.query_params.get(VALUES)) or not frame.visitor.role.includes(SEES_VALUES)
    return None if is_shown or not operation.record.values else _with(frame.path, {VALUES: "yes"})


def done_of(request: Request, operation: AnyOperation) -> str | None:
    """What the page says was done just now: a deed of the area, whatever the address says."""
    done = operation_of(operation.area, request.query_params.get(DONE, ""))
    return None if done is None or not done.events else in_words(done.name)
