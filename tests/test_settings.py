"""Settings are read from the environment; a renamed one keeps its older name."""

import pytest

from settings import Settings


@pytest.mark.parametrize("name", ["POSTROOM_HINT_TIMEOUT_S", "POSTROOM_HINT_PATIENCE_S"])
def test_the_hint_timeout_is_read_by_its_name_and_its_older_name(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for known in ("POSTROOM_HINT_TIMEOUT_S", "POSTROOM_HINT_PATIENCE_S", "HINT_TIMEOUT_S"):
        monkeypatch.delenv(known, raising=False)
    monkeypatch.setenv("HINT_TIMEOUT_S", "3")
    assert Settings().hint_timeout_s == 30.0
    monkeypatch.setenv(name, "7")
    assert Settings().hint_timeout_s == 7.0
    assert Settings(hint_timeout_s=8.0).hint_timeout_s == 8.0
