"""The SQL of the ledger: jobs, claims, settlements, audit log, dead letters, gates."""
