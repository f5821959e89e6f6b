"""The site's navigation is the index: its sections, their parts, and each page once."""

from collections import Counter

from tests.house.reading import ROOT
from tests.house.test_systems import SYSTEMS
from tools.docs_site.navigation import named, navigation

INDEX = (ROOT / "docs/README.md").read_text()

WRITTEN = """# Index

[Begin here](tutorial/a.md).

## Do

* [A `b`](howto/a.md), and more of it
* [No page](https://example.org/a.md), [a part](howto/a.md#part), [beside](../README.md)

## Understand

* [First](explanation/first.md)

### Jobs

* [Two
  lines](explanation/two.md); [and another](explanation/other.md)

### Mail

* [Mail](explanation/mail.md)
"""


def test_sections_and_parts_are_read_in_their_order() -> None:
    jobs = [{"Two lines": "explanation/two.md"}, {"and another": "explanation/other.md"}]
    mail = [{"Mail": "explanation/mail.md"}]
    assert navigation(WRITTEN) == [
        {"Documentation": "README.md"},
        {"Do": [{"A b": "howto/a.md"}]},
        {"Understand": [{"First": "explanation/first.md"}, {"Jobs": jobs}, {"Mail": mail}]},
    ]


def test_the_index_leads_to_each_page_once() -> None:
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert Counter(named(navigation(INDEX))) == Counter(pages)


def test_what_explains_is_ordered_by_system_and_begins_with_the_system_s_page() -> None:
    (understand,) = (section["Understand"] for section in navigation(INDEX) if "Understand" in section)
    assert isinstance(understand, list)
    parts = {title: pages for part in understand for title, pages in part.items()}
    for system in SYSTEMS:
        pages = parts[system.capitalize()]
        assert isinstance(pages, list)
        assert next(named(pages)) == f"explanation/{system}.md"
