"""HiGHS, a solver of linear programmes in whole numbers (https://highs.dev)."""
