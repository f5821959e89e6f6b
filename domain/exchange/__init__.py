"""Files that leave and come in: tables of typed columns, plans on paper, availability from tables and calendars."""
