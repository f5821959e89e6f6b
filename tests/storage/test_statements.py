"""Each statement of `storage` is run by a module of `storage`, or fills the records of an operation."""

import ast
from collections.abc import Iterable
from pathlib import Path

import pytest

from storage.postgres.queries import statements, statements_of
from tests.house.reading import ROOT


def unnamed(names: Iterable[str], modules: Iterable[Path]) -> set[str]:
    """The statements that no module names."""
    trees = (ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for path in modules)
    return set(names) - {node.value for tree in trees for node in tree if isinstance(node, ast.Constant)}


def test_each_statement_is_run() -> None:
    modules = [path for room in ("storage", "operations") for path in (ROOT / room).rglob("*.py")]
    assert unnamed(statements(), modules) == set()


def test_a_statement_that_nobody_runs_is_found(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('def read(tx):\n    """Runs second."""\n    return tx.run("first")\n')
    assert unnamed(["first", "second"], [module]) == {"second"}


def test_columns_are_in_each_statement_that_names_them(tmp_path: Path) -> None:
    file = tmp_path / "things.sql"
    file.write_text(
        "-- columns: thing\nid, name\n\n-- name: find\nselect columns(thing) from t\n\n-- name: add\nreturning 1\n"
    )
    assert statements_of(file) == {"find": "select id, name from t\n", "add": "returning 1\n"}
    file.write_text("-- name: find\nselect columns(thing) from t\n")
    with pytest.raises(KeyError):
        statements_of(file)
