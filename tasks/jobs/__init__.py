"""Job families that look after other jobs: audit, dead letters, housekeeping."""
