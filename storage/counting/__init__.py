"""What the metrics count: the audit log into totals, and what waits in the ledger."""
