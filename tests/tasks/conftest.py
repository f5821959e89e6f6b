"""What the tests of several job families share."""

from functools import partial

import pytest

from tests.doubles.meanwhile import Meanwhile, arrange


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Lets something happen once while a job asks the model."""
    return partial(arrange, monkeypatch)
