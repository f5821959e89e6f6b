"""Benchmarks: Postroom and its peers, in turns in one run."""
