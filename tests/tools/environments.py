"""The environments of tools that have one of their own: made by `make`, and not for every run of the tests."""

from pathlib import Path

import pytest

from tests.house.reading import ROOT


def python_of(name: str) -> Path:
    """The Python of an environment; the test is skipped where that has not been made."""
    made = ROOT / "build" / f"{name}-env"
    if not (made / ".locked").exists():
        pytest.skip(f"its packages are missing: make build/{name}-env/.locked")
    return made / "bin" / "python"
