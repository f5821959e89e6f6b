"""The contests: what is measured, against whom."""
