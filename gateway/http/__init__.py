"""What every request passes: bounds, callers, problems, ids, and what the process holds."""
