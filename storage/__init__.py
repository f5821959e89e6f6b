"""The only SQL. Takes and returns domain values."""
