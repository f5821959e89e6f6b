"""The shop's job types, a file for each family. The entry point in `pyproject.toml` names this package."""
