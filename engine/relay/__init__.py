"""The relay: moves jobs from the ledger to the broker, and rescues lost ones."""
