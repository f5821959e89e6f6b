"""All faults of a definition at once, each at its place; a definition without one is read as it is written."""

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from domain.documents.faults import MOST_FAULTS, RefusedDocument
from domain.documents.yaml_source import LONGEST_SOURCE
from domain.orgs.access.users import UserRole
from domain.workflows.definition import (
    MOST_ITEMS,
    MOST_NEEDS,
    MOST_NODES,
    ApprovalWait,
    Definition,
    DefinitionDocument,
    JobWork,
    NodeDocument,
    Retry,
    RunIf,
    WorkflowWork,
    definition_of,
    hash_of,
)
from domain.workflows.faults import Form, check, read
from tests.written_pages import DOCS, Page

ID = "3fa85f64-5717-4562-b3fc-2c963f66afa6"
SYNC = {"job": "gmail.sync", "with": {"account_id": ID}}
READER = {
    "type": "object",
    "required": ["who"],
    "properties": {"who": {"type": "string", "maxLength": 5}},
    "additionalProperties": False,
}
ARCHIVE = {"type": "object", "required": ["account_id"], "properties": {"account_id": {"format": "uuid"}}}


def workflow(name: str, *calls: str, schema: Mapping[str, Any] | None = None) -> Definition:
    nodes: dict[str, Any] = {f"n{number}": {"workflow": called} for number, called in enumerate(calls)}
    return definition_of({"name": name, "input": schema or {"type": "object"}, "nodes": nodes or {"a": SYNC}})


SAVED = {
    one.name: one
    for one in (
        workflow("reader", schema=READER),
        workflow("back", "main"),
        workflow("far-back", "back"),
        *(workflow(f"deep{level}", f"deep{level + 1}") for level in range(1, 6)),
        workflow("deep6"),
        workflow("archive-day", schema=ARCHIVE),
    )
}


def document(**nodes: object) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"list": {"type": "array"}, "ok": {"type": "boolean"}, "id": {}}}
    return {"name": "main", "input": {**schema, "additionalProperties": False}, "nodes": nodes}


def places(given_document: object) -> list[str]:
    try:
        check(given_document, SAVED.get)
    except RefusedDocument as faults:
        return [fault.pointer for fault in faults.faults]
    return []


def sync(**more: object) -> dict[str, Any]:
    return {**SYNC, **more}


LARGE: dict[str, tuple[dict[str, Any], list[str]]] = {
    "500 brackets": ({"a": sync(when="${" + "[" * 500 + "]" * 500 + "}")}, ["/a/when"]),
    "a long expression": ({"a": sync(when="${input.ok" + " " * 1_000 + "}")}, ["/a/when"]),
    "too many items": ({"a": sync(for_each=[0] * (MOST_ITEMS + 1))}, ["/a/for_each"]),
    "too many needs": (
        {"z": sync(needs=[f"n{n}" for n in range(MOST_NEEDS + 1)]), **{f"n{n}": SYNC for n in range(MOST_NEEDS + 1)}},
        ["/z/needs"],
    ),
}
VALUES: dict[str, object] = {
    "a value that JSON lacks": float("nan"),
    "a value that is too large": ["x" * 10_000] * 30,
    "a value that is too deep": json.loads("[" * 70 + "]" * 70),
}
WRITTEN = yaml.safe_load((Path(__file__).parent / "faults.yaml").read_text())


@pytest.mark.parametrize("kind", WRITTEN["nodes"])
def test_the_faults_of_nodes(kind: str) -> None:
    nodes = dict(WRITTEN["nodes"][kind])
    expected = nodes.pop("faults")
    assert places(document(**nodes)) == [f"/nodes{place}" for place in expected]


@pytest.mark.parametrize("kind", LARGE)
def test_the_faults_of_large_nodes(kind: str) -> None:
    nodes, expected = LARGE[kind]
    assert places(document(**nodes)) == [f"/nodes{place}" for place in expected]


@pytest.mark.parametrize("kind", WRITTEN["heads"])
def test_the_faults_of_a_workflow(kind: str) -> None:
    head = {**document(a=SYNC), **WRITTEN["heads"][kind]}
    expected = head.pop("faults")
    assert places({key: value for key, value in head.items() if value is not None}) == expected


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_that_cannot_be_kept_is_a_fault_of_the_whole(kind: str) -> None:
    assert places({**document(a=SYNC), "output": VALUES[kind]}) == ["/"]


def test_all_faults_come_at_once_in_the_order_of_the_document_with_their_lines() -> None:
    text = b"""\
name: Main
nodes:
  a:
    job: gmail.fly
    needs: [b]
  b:
    job: gmail.sync
    with:
      account_id: 'x ${input.id}'
    needs:
      - a
  c: {}
output: ${nodes.d.output}
"""
    with pytest.raises(RefusedDocument) as refused:
        read(text, Form.YAML, SAVED.get)
    found = [(fault.pointer, fault.line) for fault in refused.value.faults]
    assert found == [
        ("/name", 1),
        ("/nodes/a/job", 4),
        ("/nodes/a/needs", 5),
        ("/nodes/b/with/account_id", 9),
        ("/nodes/c", 12),
        ("/output", 13),
    ]
    assert "join('', ['x ', input.id])" in refused.value.faults[3].reason


@pytest.mark.parametrize("form", Form)
def test_a_thousand_nodes_are_read_and_one_more_is_not(form: Form) -> None:
    def text(count: int) -> bytes:
        nodes: dict[str, Any] = {"n0": SYNC, "n1": SYNC, "n2": SYNC}
        for number in range(3, count):
            needs = [f"n{number - before}" for before in (1, 2, 3)]
            nodes[f"n{number}"] = {
                "job": "gmail.sync",
                "needs": needs,
                "with": {"account_id": f"${{nodes.n{number // 2}.output.a}}"},
            }
        whole = {"name": "main", "nodes": nodes}
        return (json.dumps(whole) if form is Form.JSON else yaml.safe_dump(whole)).encode()

    assert len(read(text(MOST_NODES), form, SAVED.get).definition.nodes) == MOST_NODES
    with pytest.raises(RefusedDocument) as refused:
        read(text(MOST_NODES + 1), form, SAVED.get)
    assert [fault.pointer for fault in refused.value.faults] == ["/nodes"]


def test_many_faults_are_counted() -> None:
    found = places(document(**{f"n{number}": {} for number in range(150)}))
    assert found == [*(f"/nodes/n{number}" for number in range(MOST_FAULTS - 1)), "/"]
    assert len(places(document(**{f"n{number}": {} for number in range(MOST_FAULTS)}))) == MOST_FAULTS


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n" for before, after in zip("abcdefg", "bcdefgh", strict=True)
)
UNREADABLE: dict[str, tuple[Form, bytes]] = {
    "a billion laughs": (Form.YAML, LAUGHS.encode()),
    "a key twice in YAML": (Form.YAML, b"name: a\nname: b"),
    "a key twice in JSON": (Form.JSON, b'{"name": "a", "name": "b"}'),
    "a tag": (Form.YAML, b"name: !!python/object/apply:os.system [ls]"),
    "a merge": (Form.YAML, b"a: &a {x: 1}\nb: {<<: *a}"),
    "NaN in JSON": (Form.JSON, b'{"output": NaN}'),
    "an infinite number": (Form.JSON, b'{"name": "a", "nodes": {}, "output": 1e999}'),
    "half a letter": (Form.JSON, b'{"name": "\\ud800", "nodes": {}}'),
    "brackets in JSON": (Form.JSON, b"[" * 100_000),
    "brackets in YAML": (Form.YAML, b"[" * 100_000),
    "no JSON": (Form.JSON, b'{"name": "a",}'),
    "no YAML": (Form.YAML, b"name: [a"),
    "nothing": (Form.YAML, b""),
    "a list": (Form.JSON, b"[]"),
    "bytes": (Form.JSON, b"\xff\xfe"),
    "bytes in YAML": (Form.YAML, b"\xff\xfea"),
    "a long text": (Form.YAML, b"# " + b"x" * LONGEST_SOURCE),
    "a long JSON": (Form.JSON, b" " * 2_000_000),
    "digits": (Form.JSON, b'{"output": ' + b"9" * 5_000 + b"}"),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_text_that_was_made_to_hurt_is_refused(kind: str) -> None:
    form, text = UNREADABLE[kind]
    with pytest.raises(RefusedDocument):
        read(text, form, SAVED.get)


def test_a_date_is_a_text() -> None:
    text = b"name: main\nnodes: {a: {wait: {until: 2026-12-24T18:00:00Z}}}\noutput: [2026-11-24, yes, 012]"
    assert read(text, Form.YAML, SAVED.get).document["output"] == ["2026-11-24", "yes", "012"]


def test_the_example_of_the_page_is_read_as_it_is_written() -> None:
    (example,) = Page(DOCS / "explanation" / "workflow-definitions.md").code("yaml")
    checked = read(example.encode(), Form.YAML, SAVED.get)
    definition = checked.definition
    assert definition == definition_of(json.loads(json.dumps(checked.document)))
    assert hash_of(checked.document) == hash_of(dict(reversed(checked.document.items())))
    assert definition.deadline == timedelta(days=2)
    assert definition.workflows == {"archive-day"}
    assert list(definition.edges)[:2] == [("sync", "labels"), ("sync", "approve")]
    sync_node, approve, send = (definition.nodes[name] for name in ("sync", "approve", "send"))
    assert (sync_node.work, sync_node.retry) == (JobWork("gmail.sync"), Retry(max_attempts=2))
    assert approve.work == ApprovalWait("Tell the readers?", "${nodes.sync.output}", (UserRole.OWNER, UserRole.ADMIN))
    assert (approve.run_if, approve.timeout) == (RunIf.NOT_FAILED, timedelta(hours=12))
    assert (send.for_each, send.limit, send.has_items) == ("${input.readers}", 5, True)
    assert definition.nodes["archive"].work == WorkflowWork("archive-day")


TEXTS = st.text(max_size=8) | st.sampled_from(["${input.id}", "${nodes.a}", "x ${", "a", "b", "gmail.sync"])
KEYS = st.sampled_from(
    [*NodeDocument.model_fields, *DefinitionDocument.model_fields, "with", "until", "type", "a", "b"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(JSON, JSON)
def test_any_document_is_read_or_refused(one: object, other: object) -> None:
    with_nodes = {"name": "main", "nodes": {"a": one, "b": other}}
    with_values = {"name": "main", "nodes": {"a": SYNC}, "input": one, "output": other}
    for whole in (one, with_nodes, with_values):
        assert all(place.startswith("/") for place in places(whole))
