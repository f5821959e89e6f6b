"""The glossary: the classes and tables that it names are there, and each entry is one sentence."""

import ast
import re

from tests.house.reading import ROOT, read_house
from tests.written_pages import DOCS, Page

GLOSSARY = Page(DOCS / "glossary.md")
ROW = re.compile(r"^\| (?!word \|)(?P<word>[^|]+?) +\| (?P<meaning>[^|]+?) \|$", re.MULTILINE)
CLASS = re.compile(r"(?:(?<=^\| )|(?<=`))[A-Z][a-z]+(?:[A-Z][a-z]+)*(?=`| \|)", re.MULTILINE)
TABLE = re.compile(r"`([a-z]+(?:_[a-z]+)+)`")


def missing(text: str) -> set[str]:
    """What a text names as a class, a table or a column and nobody has."""
    classes = {node.name for module in read_house() for node in module.nodes() if isinstance(node, ast.ClassDef)}
    sql = {word for path in (ROOT / "storage").rglob("*.sql") for word in re.findall(r"\w+", path.read_text())}
    return set(CLASS.findall(text)) - classes | set(TABLE.findall(text)) - sql


def test_the_glossary_names_classes_and_tables_that_are_there() -> None:
    assert missing(GLOSSARY.text) == set()


def test_a_name_that_is_gone_is_found() -> None:
    text = "| Sextant | an `Astrolabe` of the table `idempotency_keys`, as `old_maps` |\n| Done | `Cancel` |\n"
    assert missing(text) == {"Sextant", "Astrolabe", "old_maps"}


def test_the_glossary_is_in_order_and_each_entry_is_one_sentence() -> None:
    rows = {row["word"]: row["meaning"] for row in ROW.finditer(GLOSSARY.text)}
    assert list(rows) == sorted(rows, key=str.lower)
    assert [word for word, meaning in rows.items() if ". " in meaning or meaning.endswith(".")] == []
