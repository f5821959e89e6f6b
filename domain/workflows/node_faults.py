"""The faults of a node that has the right shape: what it runs, what it is given, and what its expressions read."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from domain.documents.faults import Fault, under
from domain.documents.paths import Path
from domain.jobs.failures import Forbidden, Invalid
from domain.jobs.job import JsonObject
from domain.orgs.access.api_keys import check_job_type
from domain.orgs.access.users import MAY_DECIDE
from domain.payloads.payload import Payload
from domain.payloads.registry import Registry
from domain.payloads.workflows import RunPayload
from domain.workflows.definition import MOST_ITEMS, NodeDocument, RunIf, WaitDocument, read_until
from domain.workflows.expressions import evaluate
from domain.workflows.graph import IsBefore
from domain.workflows.inputs import InputCheck
from domain.workflows.misfits import payload_misfits
from domain.workflows.references import Reading, Reference, expression_in, joined, read, texts_in

KINDS = ("job", "workflow", "wait")
WAITS = ("approval", "event", "until")
BELONGS_TO = {
    "with": ("job", "workflow"),
    "for_each": ("job", "workflow"),
    "retry": ("job",),
    "payload_version": ("job",),
}
"""To which kinds of node a key belongs."""


class Surroundings(NamedTuple):
    """What the nodes of a document are checked against."""

    nodes: Mapping[str, NodeDocument | None]
    is_before: IsBefore | None
    """None where there are circles."""
    schema: JsonObject
    """Of the run's input."""
    find_check: Callable[[str], InputCheck | None]
    """What the input of another workflow must be; None where there is no workflow of this name."""
    types: Registry[type[Payload]]


def faults_of_node(name: str, node: NodeDocument, around: Surroundings) -> Iterator[Fault]:
    """What is wrong with a node; paths begin at the node."""
    yield from _kind(node)
    yield from _needs(node, around)
    yield from _when(node.when)
    yield from _for_each(node)
    if node.wait is not None:
        yield from under(("wait",), _wait(node.wait))
    if node.job is not None:
        yield from _job(node, around)
    if node.workflow is not None:
        yield from _workflow(node, around)
    for path, value in _values(node):
        has_items = path == ("with",) and node.for_each is not None
        yield from faults_of_value(value, path, around, at=name, has_items=has_items)


def _kind(node: NodeDocument) -> Iterator[Fault]:
    kinds = [kind for kind in KINDS if getattr(node, kind) is not None]
    if len(kinds) != 1:
        yield Fault((), f"must have exactly one of job, workflow and wait, and has {' and '.join(kinds) or 'none'}")
        return
    given = node.model_dump(by_alias=True, exclude_unset=True)
    for key, belongs_to in BELONGS_TO.items():
        if given.get(key) is not None and kinds[0] not in belongs_to:
            yield Fault((key,), f"belongs to a node with {' or '.join(belongs_to)}, and this has {kinds[0]}")


def _needs(node: NodeDocument, around: Surroundings) -> Iterator[Fault]:
    for index, need in enumerate(node.needs):
        if need not in around.nodes:
            yield Fault(("needs", index), f"there is no node {need}")
        elif need in node.needs[:index]:
            yield Fault(("needs", index), f"{need} is there twice")
    if not node.needs and node.run_if is not RunIf.SUCCEEDED:
        yield Fault(("run_if",), "looks at how the needs of the node ended, and it has none")


def _when(when: object) -> Iterator[Fault]:
    expression = expression_in(when)
    if when is None:
        return
    if expression is None:
        never = when is False
        yield Fault(("when",), "is always false: the node never runs" if never else "must be an expression, as ${…}")
    elif read(expression).is_constant:
        yield Fault(("when",), f"is the same in every run: {_constant(expression)!r}")


def _for_each(node: NodeDocument) -> Iterator[Fault]:
    expression = expression_in(node.for_each)
    given = node.for_each if expression is None else _given(expression)
    if node.for_each is None:
        if node.limit is not None:
            yield Fault(("limit",), "belongs to a node with for_each")
    elif given is not _OPEN and not isinstance(given, list):
        yield Fault(("for_each",), "must be a list, or an expression of a list")
    elif isinstance(given, list) and len(given) > MOST_ITEMS:
        yield Fault(("for_each",), f"has {len(given)} items, {MOST_ITEMS} at most")


def _wait(wait: WaitDocument) -> Iterator[Fault]:
    kinds = [kind for kind in WAITS if getattr(wait, kind) is not None]
    if len(kinds) != 1:
        yield Fault((), f"must have exactly one of approval, event and until, and has {' and '.join(kinds) or 'none'}")
    for key in ("show", "roles"):
        if wait.approval is None and getattr(wait, key) is not None:
            yield Fault((key,), "belongs to an approval")
    for index, role in enumerate(wait.roles or ()):
        if role not in MAY_DECIDE:
            yield Fault(("roles", index), f"{role} decides about nothing: {', '.join(sorted(MAY_DECIDE))} may")
    if wait.until is not None and expression_in(wait.until) is None:
        try:
            read_until(wait.until)
        except ValueError as error:
            yield Fault(("until",), str(error))


def _job(node: NodeDocument, around: Surroundings) -> Iterator[Fault]:
    payload_type = around.types.find(node.job or "")
    if payload_type is None:
        yield Fault(("job",), "there is no job type of this name")
        return
    if payload_type is RunPayload:
        yield Fault(("job",), "a run inside a run is written as `workflow` with its name, and `with` as its input")
        return
    try:
        check_job_type(payload_type.declaration)
    except Forbidden as refused:
        yield Fault(("job",), refused.reason.removeprefix("job_type: "))
        return
    newest = payload_type.declaration.version
    if (node.payload_version or newest) > newest:
        yield Fault(("payload_version",), f"is newer than the newest, which is {newest}")
        return
    yield from under(("with",), payload_misfits(payload_type, node.payload_version, node.with_ or {}))


def _workflow(node: NodeDocument, around: Surroundings) -> Iterator[Fault]:
    check = around.find_check(node.workflow or "")
    if check is not None:
        yield from under(("with",), check.misfits(node.with_ or {}))


def _values(node: NodeDocument) -> Iterator[tuple[Path, Any]]:
    """The values of a node that may have expressions."""
    yield ("when",), node.when
    yield ("for_each",), node.for_each
    yield ("with",), node.with_
    if node.wait is not None:
        yield from ((("wait", key), getattr(node.wait, key)) for key in ("approval", "show", "until"))


def faults_of_value(
    value: object, path: Path, around: Surroundings, *, at: str | None = None, has_items: bool = False
) -> Iterator[Fault]:
    """What is wrong with the expressions inside a value; `at` is the node that evaluates them, None the run's end."""
    for inner, text in texts_in(value, path):
        expression = expression_in(text)
        written = joined(text)
        if written is not None:
            yield Fault(inner, f"has ${{ inside a text, and an expression is a whole value: {written[:300]}")
        elif expression is not None:
            reading = read(expression)
            yield from (Fault(inner, defect) for defect in reading.defects)
            yield from (Fault(inner, reason) for reason in _reads(reading, around, at, has_items=has_items))


def _reads(reading: Reading, around: Surroundings, at: str | None, *, has_items: bool) -> Iterator[str]:
    for root in sorted({"item", "index"} & reading.roots if not has_items else ()):
        yield f"reads {root}, which is known in the `with` of a node with for_each"
    fields = around.schema.get("properties")
    known = fields if isinstance(fields, dict) else {}
    for field in sorted(reading.fields) if around.schema.get("additionalProperties") is False else ():
        if field not in known:
            yield f"reads input.{field}, and the input has no such field"
    for reference in sorted(reading.references, key=str):
        reason = _unknown(reference, around, at)
        if reason is not None:
            yield f"reads nodes.{reference.node}, {reason}"


def _unknown(reference: Reference, around: Surroundings, at: str | None) -> str | None:
    """Why a reference leads nowhere."""
    name, field = reference
    if name not in around.nodes:
        return "and there is no such node"
    if name == at:
        return "which is the node itself"
    if at is not None and around.is_before is not None and not around.is_before(name, at):
        return f"which may end later than {at} begins: it must be among the needs of {at}, or before these"
    node = around.nodes[name]
    has_items = node is not None and node.for_each is not None
    if node is not None and field == ("output" if has_items else "outputs"):
        return "which has outputs, a list of them" if has_items else "which has no items, and one output"
    return None


_OPEN = object()


def _given(expression: str) -> object:
    """What an expression gives in every run; `_OPEN` where that depends on the run."""
    return _constant(expression) if read(expression).is_constant else _OPEN


def _constant(expression: str) -> object:
    try:
        return evaluate("constant", f"${{{expression}}}", {})
    except Invalid as refused:
        return refused.reason
