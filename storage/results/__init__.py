"""Who waits for a job's result outside of the ledger, and what is due to them."""
