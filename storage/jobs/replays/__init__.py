"""Jobs that are done again, one or many: their letters, what moves in the ledger, and bulk actions."""
