"""How long the model test runs."""

import pytest


@pytest.fixture
def model_examples(request: pytest.FixtureRequest) -> int | None:
    """Random examples that were asked for; None for the suite's own, which are the same each time."""
    return request.config.getoption("model_examples")  # type: ignore[no-any-return] # pytest types no options
