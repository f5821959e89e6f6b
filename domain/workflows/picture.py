"""A workflow as a picture: a box per node, in columns from the first to the last, with how each stands in a run."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from domain.workflows.definition import (
    ApprovalWait,
    Definition,
    EventWait,
    JobWork,
    Node,
    RunIf,
    WorkflowWork,
)
from domain.workflows.graph import columns
from domain.workflows.joins import NodeState

WIDTH, HEIGHT = 196, 62
"""Of a box, in pixels."""
BETWEEN_COLUMNS, BETWEEN_ROWS, MARGIN = 64, 18, 24
LONGEST_LINE = 27
"""Letters that fit into a box."""

COLOURS = {
    NodeState.PENDING: ("#ffffff", "#9aa4b2"),
    NodeState.RUNNING: ("#dbe8ff", "#2f6fde"),
    NodeState.WAITING: ("#fff4d6", "#c98a00"),
    NodeState.SUCCEEDED: ("#dff5e3", "#2c8a45"),
    NodeState.FAILED: ("#ffe0de", "#c9302c"),
    NodeState.SKIPPED: ("#f1f2f4", "#b4bac4"),
    NodeState.CANCELED: ("#ece6f3", "#7d5ba6"),
}
"""Of a box and its edge. The state is written in the box, too."""
EDGE_COLOURS = {RunIf.FAILED: "#c9302c", RunIf.DONE: "#7d8794"}
"""Of the lines to a node that runs after a failure, and to one that runs however its needs ended."""


class BoxCounts(NamedTuple):
    """The items of a node, which share its box."""

    total: int
    ended: int
    failed: int


class NodeStatus(NamedTuple):
    """How a node stands in a run."""

    state: NodeState
    items: BoxCounts | None = None


class Box(NamedTuple):
    """Where a node is drawn: its upper left corner, in pixels."""

    left: int
    top: int


def draw(
    definition: Definition,
    statuses: Mapping[str, NodeStatus] | None = None,
    page_of: Callable[[str], str] | None = None,
) -> str:
    """The picture as SVG; without statuses, of the definition alone. Each node leads to its page, where it has one.

    A page that shows the picture may give it other colours by the classes: of the ground, the lines, and each state.
    """
    boxes = lay_out(definition)
    width = max(box.left for box in boxes.values()) + WIDTH + MARGIN
    height = max(box.top for box in boxes.values()) + HEIGHT + MARGIN
    known = statuses or {}
    parts = chain(
        (_line(boxes[need], boxes[name], definition.nodes[name]) for need, name in definition.edges),
        chain.from_iterable(
            _box(box, definition.nodes[name], known.get(name), page_of and page_of(name)) for name, box in boxes.items()
        ),
    )
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    title = f"<title>{escape(definition.name)}</title>"
    ground = '<rect class="ground" width="100%" height="100%" fill="#ffffff"/>'
    return "\n".join((head, title, ground, *parts, "</svg>\n"))


def lay_out(definition: Definition) -> Mapping[str, Box]:
    """A place for each node: right of all its needs, and near their height."""
    row: dict[str, int] = {}
    boxes: dict[str, Box] = {}
    for number, column in enumerate(columns({name: node.needs for name, node in definition.nodes.items()})):
        left = MARGIN + number * (WIDTH + BETWEEN_COLUMNS)
        for place, name in enumerate(sorted(column, key=lambda one: _height(definition.nodes[one], row))):
            row[name] = place
            boxes[name] = Box(left, MARGIN + place * (HEIGHT + BETWEEN_ROWS))
    return boxes


def _height(node: Node, row: Mapping[str, int]) -> float:
    return sum(row[need] for need in node.needs) / len(node.needs) if node.needs else 0


def _line(start: Box, end: Box, node: Node) -> str:
    colour = EDGE_COLOURS.get(node.run_if, "#b4bac4")
    dashes = ' stroke-dasharray="5 4"' if node.run_if is RunIf.FAILED else ""
    return (
        f'<line x1="{start.left + WIDTH}" y1="{start.top + HEIGHT // 2}" x2="{end.left}" y2="{end.top + HEIGHT // 2}"'
        f' stroke="{colour}"{dashes}/>'
    )


def _box(box: Box, node: Node, status: NodeStatus | None, href: str | None) -> Iterator[str]:
    state = NodeState.PENDING if status is None else status.state
    fill, edge = COLOURS[state]
    if href is not None:
        yield f"<a href={quoteattr(href)}>"
    yield f'<g class="node {state}"><title>{escape(f"{node.name}: {_work(node)}")}</title>'
    if node.has_items:  # a second box behind it: there are several of them
        yield _rectangle(Box(box.left + 5, box.top + 5), fill, edge)
    yield _rectangle(box, fill, edge)
    for number, (line, style) in enumerate(
        ((node.name, ' font-weight="bold"'), (_work(node), ' fill="#4a5361"'), (_standing(node, status), ""))
    ):
        yield f'<text x="{box.left + 10}" y="{box.top + 19 + 17 * number}"{style}>{escape(_cut(line))}</text>'
    yield "</g>" if href is None else "</g></a>"


def _rectangle(box: Box, fill: str, edge: str) -> str:
    return (
        f'<rect x="{box.left}" y="{box.top}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{fill}" stroke="{edge}"/>'
    )


def _work(node: Node) -> str:
    match node.work:
        case JobWork(job_type):
            return job_type
        case WorkflowWork(name):
            return f"workflow {name}"
        case ApprovalWait():
            return "a person's approval"
        case EventWait(event):
            return f"event {event}"
        case _:
            return "a time"


def _standing(node: Node, status: NodeStatus | None) -> str:
    if status is None:
        return f"for each, {node.limit or 'all'} at once" if node.has_items else ""
    if status.items is None:
        return str(status.state)
    total, ended, failed = status.items
    return f"{ended} of {total} ended" + (f", {failed} failed" if failed else "")


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
