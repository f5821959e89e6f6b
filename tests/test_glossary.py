"""Names of public classes consist of plain words, or of words that the glossary explains."""

import ast
import re
from collections.abc import Iterable, Iterator

import pytest

from tests.house import Module, belongs, read_house
from tests.written_pages import DOCS, Page

READ_BY_ALL = frozenset({"domain", "engine", "storage"})
GLOSSARY = Page(DOCS / "glossary.md")
ROW = re.compile(r"^\| (?!word \|)(?P<word>[^|]+?) +\| (?P<meaning>[^|]+?) \|$", re.MULTILINE)
WORD = re.compile(r"QoS|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")

PLAIN = """
aborted account action actor added address after age agent alert all amqp answer any app apply archive argument ask
attachment auth auto automated automation away batch before begun block blocker body bounded broken browser buffered
bug busy call canceled capacity cause change channel check checked choice claimed classification classify cleanup
client close column command conclusion condition conflict connection consent consumer contact context contract
conversation correction count counted counter daily danger database decision declaration defect delete demand
description direction dispatcher document domain draft draining due dumper email end ended ending enforcer enqueued
entry envelope error escalate evaluation event expected facts failure field filter finish first flag for forbidden
forward found from frozen function go gone group guidance handle handler has header held history in inbox index ingest
input interrupted invalid is item job keeper kept key kind label language limit line link list logging look loop lost
made mail mailbox manual mark marker match measure mended message metric migration mode model move moved my name new
not of offer open opening option or original other output overdue own owned owner packed page parameter park parsed
part past permanent pinned place plan policy pool priority probe process producer profile prompt publisher push qos
queue raw read reader recipient record recorded ref refreshed refused registry removal remove renamed reply request
requested reserved resolution restore result retry role routed row rule run runtime safety scheduler schema scope
sealed sealer search secret secure sender sent series server service session setting settled signal size slot source
spec spent stack standing star state statement status stop stored strategy subject sync synced table task tenant text
thread time timeline to told tool transaction transient transport trash trial tried turn type unauthorised unavailable
uncertain unique unknown unread unreadable unstar up used user value verb version view wait wanted watch weight with
worker write writer written yaml
"""
"""English, and terms of mail, queues, databases, Python and Celery."""
LEAVING = ""
"""Words of names that are about to be replaced; take a word out when the last class with it is gone."""


def explained(page: Page) -> dict[str, str]:
    """The words of the glossary with their meanings."""
    return {row["word"]: row["meaning"] for row in ROW.finditer(page.text)}


def singular(word: str) -> str:
    """The word in lower case, without the s of a plural."""
    lower = word.lower()
    return lower if lower.endswith("series") else re.sub(r"(?<=[sc]h)es$|(?<=[^s])s$", "", lower)


def known_words(terms: Iterable[str]) -> set[str]:
    """Every single word of the terms, as `singular` makes them."""
    return {singular(part) for term in terms for part in WORD.findall(term)}


def public_classes(house: Iterable[Module]) -> Iterator[tuple[str, str]]:
    """Place and name of each class that other modules may name; a payload's name is its job type's."""
    for module in house:
        if module.room not in READ_BY_ALL:
            continue
        classes = [node for node in module.nodes() if isinstance(node, ast.ClassDef)]
        names = [(module.at(node), node.name) for node in classes if not node.name.startswith("_")]
        payloads = "Payload" if belongs(module.name, ["domain.payloads"]) else ()
        yield from ((place, name) for place, name in names if not name.endswith(payloads))


def unexplained(house: Iterable[Module], known: set[str]) -> list[str]:
    """Complaints about names with a word that nobody outside this house can know."""
    return [
        f"{place} {name}: `{word}` is neither a plain word nor in docs/glossary.md; use the field's term, or explain it"
        for place, name in public_classes(house)
        for word in map(singular, WORD.findall(name))
        if word not in known
    ]


@pytest.fixture(scope="module")
def known() -> set[str]:
    return known_words(explained(GLOSSARY)) | {singular(word) for word in (PLAIN + LEAVING).split()}


def test_every_word_in_a_public_class_is_plain_or_explained(known: set[str]) -> None:
    complaints = unexplained(read_house(), known)
    assert not complaints, "\n" + "\n".join(complaints)


def test_no_word_waits_for_a_name_that_is_gone() -> None:
    used = {singular(word) for _, name in public_classes(read_house()) for word in WORD.findall(name)}
    assert set(LEAVING.split()) - used == set(), "take them out of LEAVING"


def test_a_private_word_is_found(known: set[str]) -> None:
    house = [Module("engine.relay.relay", "class Sextant:\n    pass\n\nclass _Astrolabe:\n    pass\n")]
    assert [line.split(":")[2] for line in unexplained(house, known)] == [
        " `sextant` is neither a plain word nor in docs/glossary.md; use the field's term, or explain it"
    ]


def test_the_glossary_is_in_order_and_each_entry_is_one_sentence() -> None:
    words = explained(GLOSSARY)
    assert list(words) == sorted(words, key=str.lower)
    assert [word for word, meaning in words.items() if ". " in meaning or meaning.endswith(".")] == []
