"""How texts, names and numbers are written, and when two of them are the same."""
