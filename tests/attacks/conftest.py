"""Attacks change roles and sessions, and each meets sessions that are new."""

import pytest


@pytest.fixture
def database_url(fresh_database_url: str) -> str:
    """The owner's URL of a new database."""
    return fresh_database_url
