"""Benchmarks: ours beside plain Celery, in turns in one run."""
