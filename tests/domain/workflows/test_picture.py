"""The picture of a workflow: valid, with a box for each node, none above another, and its items in one box."""

from itertools import combinations
from typing import Any
from xml.etree import ElementTree as ET

from hypothesis import given

from domain.workflows.definition import Definition, definition_of
from domain.workflows.joins import NodeState
from domain.workflows.picture import HEIGHT, WIDTH, BoxCounts, NodeStatus, draw, lay_out
from tests.domain.workflows.random_definitions import Script, scripts

SVG = "{http://www.w3.org/2000/svg}"


def words(picture: str) -> list[str]:
    """All texts of a picture, as a reader of XML finds them."""
    return [element.text or "" for element in ET.fromstring(picture).iter(f"{SVG}text")]  # noqa: S314 - ours


def workflow(count: int) -> Definition:
    nodes: dict[str, Any] = {}
    for number in range(count):
        needs = [f"n{other}" for other in {number // 2, number - 7, number - 20} if 0 <= other < number]
        nodes[f"n{number}"] = {"job": "gmail.sync", "needs": needs}
    return definition_of({"name": "main", "nodes": nodes})


def check_boxes(definition: Definition) -> None:
    boxes = lay_out(definition)
    assert boxes.keys() == definition.nodes.keys()
    for one, other in combinations(boxes.values(), 2):
        assert abs(one.left - other.left) > WIDTH or abs(one.top - other.top) > HEIGHT
    assert all(boxes[need].left + WIDTH < boxes[name].left for need, name in definition.edges)


def test_500_nodes_have_500_boxes_that_do_not_overlap() -> None:
    definition = workflow(500)
    check_boxes(definition)
    statuses = {name: NodeStatus(NodeState.SUCCEEDED) for name in definition.nodes}
    root = ET.fromstring(draw(definition, statuses))  # noqa: S314 - ours
    assert len(root.findall(f"{SVG}g")) == 500
    assert len(root.findall(f"{SVG}line")) == len(list(definition.edges))


@given(scripts())
def test_any_workflow_has_a_picture(script: Script) -> None:
    check_boxes(script.definition)
    assert words(draw(script.definition))


def test_the_items_of_a_node_are_one_box_with_their_counts() -> None:
    each = {"job": "email.send", "for_each": "${input.list}", "limit": 5}
    definition = definition_of({"name": "main", "input": {"type": "object"}, "nodes": {"send": each}})
    running = draw(definition, {"send": NodeStatus(NodeState.RUNNING, BoxCounts(10_000, 7_000, 3))})
    assert words(running) == ["send", "email.send", "7000 of 10000 ended, 3 fai…"]
    assert words(draw(definition))[2] == "for each, 5 at once"


def test_every_state_is_written_and_names_are_escaped() -> None:
    nodes: dict[str, Any] = {str(state): {"wait": {"event": "x"}} for state in NodeState}
    definition = definition_of({"name": "main", "nodes": nodes})
    drawn = draw(definition, {str(state): NodeStatus(state) for state in NodeState})
    assert set(words(drawn)) == {*NodeState, "event x"}
    odd = Definition('<b>&"', {}, definition.nodes)
    assert ET.fromstring(draw(odd)).findtext(f"{SVG}title") == '<b>&"'  # noqa: S314 - ours
