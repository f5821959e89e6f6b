"""The documentation says what is true: links lead somewhere, pages name what exists, generated pages are fresh."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from psycopg import Connection

from commands.command_line.every_command import COMMANDS
from domain.jobs.effects import Strategy
from domain.jobs.failures import Failure
from domain.jobs.job import State
from domain.jobs.lifecycle import MOVES
from domain.jobs.queues import Queue
from storage.postgres.queries import statements
from tests.house.reading import ROOT
from tests.house.test_rooms import MAY_IMPORT
from tests.house.test_systems import SYSTEMS
from tests.written_pages import DOCS, Page, all_pages, broken_links
from tools import reference, schema_notes, system_pages

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

CELERYS_OWN = {"worker", "beat", "call", "flower"}
MOVES_JOBS = re.compile(r"\b(update|insert into|delete from) jobs\b|\bpostroom\.leave_claims\b")

STATEMENTS = {"000": 103, "001": 170, "002": 40, "003": 90, "004": 131}
STATES = {"works", "differs"}
ROW = re.compile(r"^\| (\d{3}-\d+) \|(.*)\|(.*)\|(.*)\|(.*)\|$", re.MULTILINE)
DIFFERENCES = "\n## Deliberate differences\n"
DIFFERENCE = re.compile(r"^\| (\d{3}-\d+(?:(?:, | to )\d{3}-\d+)*) \| (.+) \| (.+) \|$", re.MULTILINE)

CRITERIA = range(1, 33)
NAMED_CRITERIA = {
    "test_ac_01_jobs_table_exists_with_correct_schema",
    "test_ac_02_polling_indexes_exist",
    "test_ac_03_expire_stale_jobs_function",
    "test_ac_05_email_jobs_migrated",
    "test_ac_08_create_job_returns_id",
    "test_ac_09_claim_next_skip_locked",
    "test_ac_10_mark_running_transition",
    "test_ac_11_complete_with_output",
    "test_ac_12_fail_with_retry",
    "test_ac_12_fail_exhausted",
    "test_ac_13_expire_stale_service",
    "test_ac_15_runner_poll_and_dispatch",
    "test_ac_17_handler_exception_isolated",
    "test_ac_18_email_processing_handler",
    "test_ac_19_agent_invocation_handler",
    "test_ac_20_reminder_delivery_handler",
}
"""The names that the document gives; of the other criteria it says the number only."""


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


def faults_of(text: str) -> list[tuple[str, str]]:
    """Number and cause of each row that has no state of ours, or that names nothing, or names what is not there."""
    sql = "\n".join(path.read_text() for path in (ROOT / "storage").rglob("*.sql"))
    words = set(re.findall(r"\w+", sql))
    wrong = []
    for number, _, state, code, test in ROW.findall(text):
        if state.strip() not in STATES:
            wrong.append((number, state.strip()))
        if "`" not in code or "`tests/" not in test:
            wrong.append((number, "names no code or no test"))
        named = re.findall(r"`([^`]+)`", code + test)
        gone = [name for name in named if not (ROOT / name).exists() and not set(name.split(".")) <= words]
        wrong += [(number, name) for name in gone]
    return wrong


def numbers_in(cell: str) -> Iterator[str]:
    """Each number of a cell such as `000-1, 000-3 to 000-5`."""
    for part in cell.split(", "):
        first, _, last = part.partition(" to ")
        document, start = first.split("-")
        end = (last or first).partition("-")[2]
        yield from (f"{document}-{number}" for number in range(int(start), int(end) + 1))


def test_every_statement_works_or_differs_and_names_code_and_tests_that_are_there() -> None:
    assert faults_of(SEEDS.text) == []


def test_a_statement_without_support_is_found() -> None:
    rows = [
        "| works | `jobs.sextant` | `tests` |",
        "| works | | `tests/a.py` |",
        "| not yet | `jobs` | `tests/house/reading.py` |",
    ]
    text = "\n".join(f"| 000-{number} | a {row}" for number, row in enumerate(rows, start=1))
    assert {number for number, _ in faults_of(text)} == {"000-1", "000-2", "000-3"}


def test_no_statement_is_left_out() -> None:
    numbers = [number for number, *_ in ROW.findall(SEEDS.text)]
    wanted = [f"{document}-{number}" for document, most in STATEMENTS.items() for number in range(1, most + 1)]
    assert (numbers, len(numbers)) == (wanted, 534)


def test_a_statement_differs_if_and_only_if_a_reason_is_given() -> None:
    table = SEEDS.text.partition(DIFFERENCES)[2].partition("\n## ")[0]
    differing = {number for number, _, state, *_ in ROW.findall(SEEDS.text) if state.strip() == "differs"}
    reasons = {number for cell, *_ in DIFFERENCE.findall(table) for number in numbers_in(cell)}
    assert (differing - reasons, reasons - differing) == (set(), set())


def test_each_acceptance_criterion_has_a_test_by_its_name() -> None:
    sources = (path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    names = {name for source in sources for name in re.findall(r"^def (test_ac_\d\d_\w+)\(", source, re.MULTILINE)}
    assert NAMED_CRITERIA - names == set()
    assert {name[8:10] for name in names} == {f"{number:02}" for number in CRITERIA}


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
    text = "\n".join(page.text for page in BY_HAND)
    assert {name for name in COMMANDS if f"celery -A tasks {name}" not in text} == set()


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
    wrong = [(name, words) for name, words in written if not_understood(COMMANDS[words[0]], words[1:])]
    assert wrong == []


OF_UPGRADE = ["Requirements", "What is new", "Order", "Locks", "Go back"]


@pytest.mark.parametrize("page", sorted((DOCS / "upgrades").iterdir()), ids=lambda page: page.stem)
def test_the_page_of_an_upgrade_has_the_shape_of_all(page: Path) -> None:
    assert re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE) == OF_UPGRADE


SHAPE = ["What it does", "Rooms", "Tables", "Jobs", "Promises", "Traps"]
LONGEST_SYSTEM = 1_200


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_page_of_a_system_has_the_shape_of_all(system: str) -> None:
    page = Page(DOCS / "explanation" / f"{system}.md")
    headings = [heading for heading in re.findall(r"^## (.+)$", page.text, re.MULTILINE) if heading in SHAPE]
    assert headings[-5:] == SHAPE[-5:]
    assert len(page.text.split()) <= LONGEST_SYSTEM
    assert system_pages.redrawn(system, page.text) == page.text, "run `make docs`"


def test_the_pages_of_the_systems_name_each_table_once(database: Connection) -> None:
    rows = database.execute(
        "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
    )
    tables = {str(row[0]) for row in rows} - {"alembic_version"}
    named = Counter[str]()
    for system in SYSTEMS:
        text = Page(DOCS / "explanation" / f"{system}.md").text
        (section,) = re.findall(r"^## Tables\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
        first_cells = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
        named.update(name for cell in first_cells for name in re.findall(r"`(\w+)`", cell))
    assert named == Counter(tables)
