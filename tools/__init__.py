"""Writes the generated pages of the documentation; imported by nobody."""
