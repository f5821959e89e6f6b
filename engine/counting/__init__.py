"""Counts for the whole fleet: what happened to jobs, what waits, what beat has done."""
