"""The documentation says what is true: links lead somewhere, pages name what exists, generated pages are fresh."""

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest
from psycopg import Connection

import commands
from domain.jobs.effects import Strategy
from domain.jobs.failures import Failure
from domain.jobs.job import State
from domain.jobs.lifecycle import MOVES
from domain.jobs.queues import Queue
from storage.postgres.queries import statements
from tests.house import ROOT
from tests.test_house import MAY_IMPORT
from tests.written_pages import DOCS, Page, all_pages, broken_links
from tools import reference, schema_notes

PAGES = all_pages()
LIFE = Page(DOCS / "explanation" / "life-of-a-job.md")
EFFECTS = Page(DOCS / "explanation" / "effects.md")
HOUSE = Page(DOCS / "explanation" / "the-house.md")
PROMISES = Page(DOCS / "explanation" / "promises.md")
SEEDS = Page(DOCS / "reference" / "seeds.md")
INDEX = Page(DOCS / "README.md")
README = Page(ROOT / "README.md")
GENERATED = {reference.FOLDER / name for name in reference.PAGES}
BY_HAND = [page for page in PAGES if page.path not in GENERATED]
by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)

CELERYS_OWN = {"worker", "beat", "flower"}
MOVES_JOBS = re.compile(r"\b(update|insert into|delete from) jobs\b|\bpostroom\.leave_claims\b")


@by_page
def test_every_link_leads_somewhere(page: Page) -> None:
    assert list(broken_links(page)) == []


def test_a_broken_link_would_be_found(tmp_path: Path) -> None:
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# Here, there")
    page.write_text("[a](nowhere.md) [b](other.md#everywhere) [c](other.md#here-there)")
    assert len(list(broken_links(Page(page)))) == 2


@pytest.mark.parametrize(
    "page", [page for page in BY_HAND if page.path.parent.name != "tutorial"], ids=lambda page: page.name
)
def test_every_path_that_a_page_names_exists(page: Page) -> None:
    gone = {path for path in page.paths() if not (ROOT / path).exists()}
    assert gone == set()


def test_a_path_that_is_gone_would_be_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`tests/nowhere.py` `tests/test_docs.py` `tests/test_<family>.py` `gateway`\n```sh\n`tests/a`\n```\n"
    )
    assert Page(page).paths() == ["tests/nowhere.py", "tests/test_docs.py"]


@pytest.mark.parametrize("promise", [f"P{number}" for number in range(1, 12)])
def test_every_promise_names_the_tests_that_show_it(promise: str) -> None:
    section = re.split(r"^## ", PROMISES.text, flags=re.MULTILINE)[int(promise[1:])]
    assert section.startswith(f"{promise}\n")
    assert re.findall(r"^\| `(tests/\S+)` \| \w", section, re.MULTILINE), "name the tests that show it"


def unsupported(text: str) -> list[tuple[str, str]]:
    """Number and cause of each row of reference/seeds.md that names nothing, or names what is not there."""
    sql = "\n".join(path.read_text() for path in (ROOT / "storage").rglob("*.sql"))
    words = set(re.findall(r"\w+", sql))
    wrong = []
    for number, _, state, code, test in re.findall(r"^\| (\d{3}-\d+) \|(.*)\|(.*)\|(.*)\|(.*)\|$", text, re.MULTILINE):
        kind, names = state.strip().partition(":")[0], re.findall(r"`([^`]+)`", code + test)
        if kind not in {"works", "partly", "not yet"}:
            wrong.append((number, kind))
        if kind != "not yet" and not ("`" in code and "`" in test):
            wrong.append((number, "names no code or no test"))
        gone = [name for name in names if not (ROOT / name).exists() and not set(name.split(".")) <= words]
        wrong += [(number, name) for name in gone]
    return wrong


def test_every_statement_of_a_source_document_names_code_and_tests_that_are_there() -> None:
    assert unsupported(SEEDS.text) == []


def test_a_statement_without_support_is_found() -> None:
    rows = ["| 1 | works | `jobs.sextant` | `tests` |", "| 2 | works | | `tests/a.py` |", "| 3 | soon | | |"]
    text = "\n".join(row.replace("| ", "| 000-", 1).replace(" |", " | a |", 1) for row in rows)
    assert {number for number, _ in unsupported(text)} == {"000-1", "000-2", "000-3"}


def test_the_index_names_every_page() -> None:
    linked = {(INDEX.path.parent / target.partition("#")[0]).resolve() for target in INDEX.links()}
    missing = {path for path in DOCS.rglob("*.md") if path != INDEX.path} - linked
    assert missing == set(), "docs/README.md is the index"


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_generated_page_is_what_the_code_says(name: str) -> None:
    written = (reference.FOLDER / name).read_text()
    assert written == reference.PAGES[name](), "run `make docs`"


def test_nothing_else_stands_among_the_generated_pages() -> None:
    by_hand = {reference.FOLDER / "seeds.md", reference.FOLDER / "rule-language.md"}
    assert set(reference.FOLDER.iterdir()) - GENERATED == by_hand


def test_the_page_of_tables_names_every_column_of_a_migrated_database(database: Connection) -> None:
    rows = database.execute(
        "select table_name, column_name, is_nullable = 'NO'"
        " from information_schema.columns natural join information_schema.tables"
        " where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'alembic_version'"
    ).fetchall()
    written = {(t.name, c.name, c.required) for t in schema_notes.tables() for c in t.columns}
    assert written == set(rows)


def test_the_page_of_tables_names_every_domain_of_a_migrated_database(database: Connection) -> None:
    rows = database.execute(
        "select t.oid::regtype::text, replace(t.typbasetype::regtype::text, 'timestamp with time zone', 'timestamptz')"
        " from pg_type t where t.typtype = 'd' and t.typnamespace in ('postroom'::regnamespace, 'public'::regnamespace)"
    ).fetchall()
    assert {(domain.name, domain.kind) for domain in schema_notes.domains()} == set(rows)


def test_the_page_of_tables_names_every_view_of_a_migrated_database(database: Connection) -> None:
    rows = database.execute("select viewname from pg_views where schemaname = 'public'").fetchall()
    assert {(view.name,) for view in schema_notes.views()} == set(rows)


def test_the_page_of_tables_knows_the_fences(database: Connection) -> None:
    rows = database.execute(
        "select relname from pg_class where relrowsecurity and relnamespace = 'public'::regnamespace"
    ).fetchall()
    assert {table.name for table in schema_notes.tables() if table.fenced} == {row[0] for row in rows}


def test_every_failure_has_its_line() -> None:
    page = (reference.FOLDER / "failures.md").read_text()
    ours = {kind.__name__ for kind in kinds_of(Failure) if not kind.__module__.startswith(("tests", "providers"))}
    assert {name for name in ours if f"| `{name}` |" not in page} == set()


def kinds_of(kind: type[Failure]) -> set[type[Failure]]:
    return {kind for below in kind.__subclasses__() for kind in (below, *kinds_of(below))}


def test_the_state_diagram_draws_the_allowed_moves() -> None:
    edges = re.findall(r"^ +(\S+) --> (\S+?)(?::|$)", LIFE.code("mermaid")[0], re.MULTILINE)
    assert {(State(a), State(b)) for a, b in edges if "[*]" not in {a, b}} == MOVES
    assert len(edges) == len(set(edges))
    assert {a for a, b in edges if b == "[*]"} == {state.value for state in State if state.final}
    assert {b for a, b in edges if a == "[*]"} == {"queued", "dead"}


def test_the_life_of_a_job_names_every_statement_that_moves_one() -> None:
    moving = {name for name, text in statements().items() if MOVES_JOBS.search(text)}
    assert {"claim_jobs", "settle_jobs", "lock_lost_claims"} <= moving
    assert {name for name in moving if f"`{name}`" not in LIFE.text} == set()


def test_the_life_of_a_job_names_every_audit_event() -> None:
    sql = "\n".join(path.read_text() for path in (ROOT / "storage").rglob("*.sql"))
    events = set(re.findall(r"'(job\.[a-z_]+)'", sql))
    assert {event for event in events if f"`{event}`" not in LIFE.text} == set()


def test_the_effects_name_every_strategy() -> None:
    assert {one.value for one in Strategy if f"| `{one.value}` |" not in EFFECTS.text} == set()


def test_the_house_page_has_every_room_of_the_import_table() -> None:
    rooms = {name.partition(".")[0] for name in MAY_IMPORT}
    named = {span.removesuffix(".py").removesuffix("/") for span in HOUSE.spans()}
    assert rooms - named == set()


def test_the_readme_names_every_queue() -> None:
    assert {queue.value for queue in Queue if f"`{queue.value}`" not in README.text} == set()


def test_every_group_of_commands_is_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = set(project["project"]["entry-points"]["celery.commands"])
    text = "\n".join(page.text for page in BY_HAND)
    assert {name for name in groups if f"celery -A tasks {name}" not in text} == set()


def commands_in(page: Page) -> list[list[str]]:
    """The words after `celery -A tasks` in the page's shell blocks."""
    lines = [line.partition(" # ")[0] for block in page.code("sh") for line in block.splitlines()]
    found = [line.partition("celery -A tasks ")[2] for line in lines if "celery -A tasks " in line]
    return [shlex.split(line) for line in found]


def not_understood(group: click.Command, words: list[str]) -> str | None:
    """What of a command line the command does not know; None when it knows all."""
    while isinstance(group, click.Group):
        word, *words = words
        if word not in group.commands:
            return word
        group = group.commands[word]
    options = {name for parameter in group.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return next((word for word in words if word.startswith("--") and word not in options), None)


def test_an_unknown_option_would_be_found() -> None:
    group = click.Group("jobs", [click.Command("list", params=[click.Option(["--state"])])])
    assert not_understood(group, ["list", "--state", "dead"]) is None
    assert not_understood(group, ["list", "--stat", "dead"]) == "--stat"
    assert not_understood(group, ["tell"]) == "tell"


def test_every_command_in_the_docs_exists() -> None:
    written = [(page.name, words) for page in BY_HAND for words in commands_in(page) if words[0] not in CELERYS_OWN]
    assert written
    wrong = [(name, words) for name, words in written if not_understood(commands.COMMANDS[words[0]], words[1:])]
    assert wrong == []
