"""Files that come in and go out: artifacts and their links, tables of typed columns, plans on paper."""
