"""Questions to people and their answers, and effects in doubt with what a person found out."""
