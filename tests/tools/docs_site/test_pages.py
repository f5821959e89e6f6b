"""The pages for the site: each link leads to the place that the site has for its target."""

from pathlib import Path

import pytest

from tests.house.reading import ROOT
from tools.docs_site.pages import MERMAID, Pages, place_of

LINKED = "bench/a.py", "deploy/one.yaml", "docs/pictures/a.webp", "docs/glossary.md", "deploy/kubernetes/README.md"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small repository, whose files say nothing."""
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/README.md", *LINKED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "docs/README.md").write_text("[a](../deploy/kubernetes/README.md)")
    return tmp_path


def written(checkout: Path, name: str, text: str) -> str:
    """The text that the site has of a page."""
    (checkout / name).parent.mkdir(parents=True, exist_ok=True)
    (checkout / name).write_text(text)
    pages = Pages(checkout)
    pages.gather()
    pages.write(checkout / "site")
    return (checkout / "site" / place_of(name)).read_text()


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("docs/howto/plan-a-day.md", "[a](../glossary.md#b) [c](#d)", "[a](../glossary.md#b) [c](#d)"),
        ("docs/howto/plan-a-day.md", "[a](../../bench/a.py)", "[a](../repository/bench/a.py.txt)"),
        ("docs/howto/plan-a-day.md", "[a](https://example.org/a.md)", "[a](https://example.org/a.md)"),
        ("docs/howto/plan-a-day.md", "see [the files](../../deploy/kubernetes) there", "see the files there"),
        ("docs/howto/plan-a-day.md", '<img src="../pictures/a.webp">', '<img src="../pictures/a.webp">'),
        ("README.md", "![a](docs/pictures/a.webp)", "![a](../pictures/a.webp)"),
        ("README.md", '<source srcset="docs/pictures/a.webp">', '<source srcset="../pictures/a.webp">'),
        ("README.md", "[a](docs/glossary.md)", "[a](../glossary.md)"),
        ("deploy/kubernetes/README.md", "[a](../../docs/glossary.md)", "[a](../../../glossary.md)"),
    ],
)
def test_a_link_leads_to_the_place_of_its_target(checkout: Path, name: str, text: str, wanted: str) -> None:
    assert written(checkout, name, text) == wanted


def test_what_a_page_links_to_comes_along_and_nothing_else(checkout: Path) -> None:
    written(checkout, "docs/README.md", "[a](../deploy/one.yaml) [b](../deploy/kubernetes/README.md)")
    beside = checkout / "site" / "repository"
    found = {str(path.relative_to(beside)) for path in beside.rglob("*") if path.is_file()}
    kept = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
    assert found == kept | {"deploy/one.yaml.txt", "deploy/kubernetes/README.md"}


def test_code_is_left_as_it_is_and_lists_are_indented_by_four(checkout: Path) -> None:
    block = "```sh\n   [a](../bench/a.py)\n```\n"
    text = f"{block}\n1. Do:\n\n   ```sh\n   [a](../bench/a.py)\n   ```\n\n   Then.\n"
    page = written(checkout, "docs/glossary.md", text)
    assert page == f"{block}\n1. Do:\n\n    ```sh\n    [a](../bench/a.py)\n    ```\n\n    Then.\n"


def test_a_page_with_a_diagram_loads_the_program_that_draws_it(checkout: Path) -> None:
    page = written(checkout, "docs/howto/plan-a-day.md", "```mermaid\nflowchart LR\n```\n")
    assert f'<script src="../{MERMAID}"></script>' in page
    assert (checkout / "site" / MERMAID).read_bytes() == (ROOT / "tools/docs_site" / MERMAID).read_bytes()
    assert "<script" not in written(checkout, "docs/howto/be-reminded.md", "no diagram")
