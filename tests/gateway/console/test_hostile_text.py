"""Names, subjects, errors and payloads of strangers, on each page of the console: they are words, and nothing else."""

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin
from uuid import UUID, uuid4

import pytest
from pydantic import BaseModel
from selectolax.lexbor import LexborHTMLParser

from domain.clean_text import clean_text
from domain.jobs.failures import Invalid
from domain.orgs.access.operators import OperatorRights, OperatorRole
from gateway.console.derived import Listing, name_of
from gateway.console.forms import fields_of, with_trouble
from gateway.console.frame import Frame
from gateway.console.pages import HandPage
from gateway.console.pages import pages as pages_by_hand
from gateway.console.rendering import page
from gateway.console.shown import LONGEST_TEXT, columns_of, entries_of, line_of
from gateway.console.things import Things
from gateway.console.visitors import Visitor
from operations.areas import areas
from operations.operation import Operation, Record

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "\"' autofocus onfocus=alert(1) x='",
    "\u202eevil \u2066 \u200f",
    "a\ud800b",
    "a\x00b\\u0000",
    "{{ 'xq' ~ 'zk' }} {% raw %}",
    "</textarea></pre></details></bdi>--><!--",
)
TEXTS = {
    "all at once": " ".join(HOSTILE),
    "a scheme": "javascript:alert(1)",
}
LONG = "<b>" + "w" * 200_000
ODD = ", ".join(f"[{name}]" for name in ("style", "onerror", "onfocus", "onload", "onclick"))
OPERATIONS = [one for area in areas() for one in area.operations]
VISITOR = Visitor(
    uuid4(), "ada@example.org", OperatorRights(OperatorRole.ADMIN, None, is_proven=True), uuid4(), "t0ken"
)


def frame(text: str) -> Frame:
    return Frame(VISITOR, Things("/console", None), f"/console/jobs?job_type={text}", "", "development", [("1", text)])


def said(hint: object, text: str) -> Any:  # noqa: ANN401 - a value of any type
    """A value of a type, hostile wherever it can be."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return said(inner[0], text)
    if origin in {Union, UnionType}:
        return said(next(one for one in inner if one is not type(None)), text)
    if origin in {list, tuple}:
        return [said(inner[0], text)]
    if origin is dict or hint is dict:
        return {text: {"within": [text, None, 1.5, True]}}
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return filled(hint, text)
    return uuid4() if hint is UUID else text


def filled(model: type[BaseModel], text: str) -> BaseModel:
    return model.model_construct(**{name: said(field.annotation, text) for name, field in model.model_fields.items()})


class Anything:
    """What a page by hand may show: hostile as a text, with every field, and a number where one is needed.

    `agrees` is whether it equals whatever a template compares it with: each takes another branch.
    """

    def __init__(self, text: str, *, agrees: bool) -> None:
        self._text, self._agrees = text, agrees

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - an address is made by the console, all else is hostile
        if name.startswith("__"):
            raise AttributeError(name)
        return "/console/x" if name.endswith("href") else self

    def __getitem__(self, _key: object) -> "Anything":
        return self

    def __call__(self, *_arguments: object, **_named: object) -> "Anything":
        return self

    def __iter__(self) -> Iterator["Anything"]:
        return iter((self, self))

    def __len__(self) -> int:
        return 2

    def __eq__(self, _other: object) -> bool:
        return self._agrees

    def __gt__(self, _other: object) -> bool:
        return self._agrees

    def __ge__(self, _other: object) -> bool:
        return self._agrees

    def __hash__(self) -> int:
        return 1

    def __float__(self) -> float:
        return 1.5

    def __radd__(self, other: float) -> float:
        return other + 1.5

    def __mul__(self, other: float) -> float:
        return other * 1.5

    def __truediv__(self, other: float) -> float:
        return 1.5 / other

    def __format__(self, _form: str) -> str:
        return self._text

    def __str__(self) -> str:
        return self._text


def pages(operation: Operation[..., Any], text: str) -> Iterator[bytes]:
    around: dict[str, Any] = {
        "frame": frame(text),
        "operation": operation,
        "name": name_of(operation),
        "takes_away": False,
    }
    things = Things("/console", None)
    record = filled(operation.record, clean_text(text))  # the database keeps no other
    assert isinstance(record, Record)
    fields, _ = with_trouble(
        fields_of(operation, dict.fromkeys(operation.parameters.model_fields, text)), Invalid("reason", text)
    )
    listing = Listing(columns_of(operation.record), [line_of(record, things, "/console/x")], None, None)
    shared: dict[str, Any] = {
        "steps": [],
        "done": text,
        "trouble": text,
        "absence": text,
        "fields": fields,
        "needs_org": False,
        "values_href": None,
        "watched": text,
    }
    entries = entries_of(record, things)
    yield bytes(page("list.html", **around, **shared, listing=listing).body)
    yield bytes(page("look.html", **around, **shared, entries=entries).body)
    yield bytes(page("deed.html", **around, fields=fields, trouble=text, org_trouble=text, back="/console").body)
    yield bytes(
        page("confirm.html", **around, fields=fields, typed={"a": text}, request_id=uuid4(), back="/console").body
    )
    yield bytes(page("result.html", **around, listing=listing, entries=entries).body)


def check_words(body: bytes, text: str, name: str) -> None:
    tree = LexborHTMLParser(body.decode())
    scripts = [one.attributes.get("src") or "inline" for one in tree.css("script")]
    assert all(one.startswith("/console/static/") for one in scripts), name
    assert len(scripts) == 2, name
    assert not tree.css(ODD), name
    assert not tree.css('[href^="javascript"], [action^="javascript"]'), name
    assert not tree.css("main img"), name
    assert b"xqzk" not in body
    assert b"\x00" not in body
    # Each text is isolated, so that its marks of direction end with it.
    assert "\u202e" not in text or body.count(b"\xe2\x80\xae") > 0


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_no_page_says_more_than_words(text: str) -> None:
    for operation in OPERATIONS:
        for body in pages(operation, text):
            check_words(body, text, operation.name)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("agrees", [True, False])
@pytest.mark.parametrize("shown", pages_by_hand(), ids=lambda one: one.path or "overview")
def test_no_page_by_hand_says_more_than_words(shown: HandPage, text: str, *, agrees: bool) -> None:
    value = Anything(clean_text(text), agrees=agrees)
    body = page(shown.template, frame=frame(text), here=shown.here, title=shown.title, shown=value).body
    check_words(bytes(body), text, shown.path)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_a_long_text_is_cut_and_said_to_be() -> None:
    text = LONG
    for operation in OPERATIONS:
        texts = sum(len(str(one)) > LONGEST_TEXT for one in filled(operation.record, text).__dict__.values())
        for entry in entries_of(filled(operation.record, text), Things("/console", None)):  # type: ignore[arg-type] # each is a record
            assert len(entry.value.whole) + len(entry.value.text) <= 2 * LONGEST_TEXT, (operation.name, texts)


def test_a_check_of_scripts_can_fail() -> None:
    tree = LexborHTMLParser("<p onclick=x><script>y</script>")
    assert [one.attributes.get("src") or "inline" for one in tree.css("script")] == ["inline"]
