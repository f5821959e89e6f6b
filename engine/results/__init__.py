"""Results of jobs for clients of Celery: what the ledger says, in Celery's own form."""
