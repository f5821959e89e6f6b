"""What a database that is distributed by org would refuse, counted in the catalogue and said in the documentation."""

import re

from psycopg import Connection

from tests.written_pages import DOCS, Page

CELLS = Page(DOCS / "explanation" / "cells.md")
COUNTED = re.compile(r"^\| (?P<what>[^|]+?) \| (?P<count>\d+) \| (?P<of>\d+) \| (?P<names>.*) \|$", re.MULTILINE)
PRIMARY_KEYS, UNIQUE_KEYS, REFERENCES = "primary keys", "other unique keys", "foreign keys"

OF_ORGS = (
    "with of_orgs as (select a.attrelid, a.attnum"
    " from erasure_rules r join pg_attribute a on a.attrelid = r.table_name::regclass"
    " where r.org_rows is not null and a.attname = case when r.table_name = 'orgs' then 'id' else 'org_id' end)"
)
UNIQUE = (
    f"{OF_ORGS} select i.indexrelid::regclass::text, o.attnum = any (i.indkey) from pg_index i"
    " join of_orgs o on o.attrelid = i.indrelid where i.indisunique"
)
KEYS = {
    PRIMARY_KEYS: f"{UNIQUE} and i.indisprimary order by 1",
    UNIQUE_KEYS: f"{UNIQUE} and not i.indisprimary order by 1",
    REFERENCES: (
        f"{OF_ORGS} select c.conrelid::regclass || ' to ' || c.confrelid::regclass, o.attnum = any (c.conkey)"
        " from pg_constraint c join of_orgs o on o.attrelid = c.conrelid where c.contype = 'f' order by 1"
    ),
}


def test_the_page_counts_the_keys_that_lack_the_org(database: Connection) -> None:
    said = {row["what"]: (int(row["count"]), int(row["of"]), row["names"]) for row in COUNTED.finditer(CELLS.text)}
    for what, query in KEYS.items():
        found = database.execute(query.encode()).fetchall()
        without = [f"`{name}`" for name, has_org in found if not has_org]
        count, of, names = said[what]
        assert (count, of) == (len(without), len(found)), what
        assert what == PRIMARY_KEYS or names == ", ".join(without)
