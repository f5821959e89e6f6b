"""What people and services may do about the jobs and their ledger."""
