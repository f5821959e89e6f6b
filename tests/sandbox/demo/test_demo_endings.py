"""One run per folder, signals as exceptions, and no settings inherited from the caller."""

import os
import signal
from pathlib import Path

import pytest

from sandbox.demo.endings import Busy, Stopped, alone_in, forget_settings, signals_deferred, stopped_by_signals


def test_a_folder_is_held_by_one_run_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "build" / "demo"
    with alone_in(folder), pytest.raises(Busy, match="another run works in"), alone_in(folder):
        pass
    with alone_in(folder):
        assert not folder.exists()


def test_the_first_signal_stops_and_a_second_cannot_disturb_the_end() -> None:
    before = signal.getsignal(signal.SIGTERM)
    ended = False
    with pytest.raises(Stopped, match="SIGTERM") as caught, stopped_by_signals():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            ended = True
    assert ended
    assert caught.value.exit_status == 143
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_waits_for_the_end_of_what_must_be_whole() -> None:
    done = []
    with pytest.raises(Stopped, match="SIGINT"), stopped_by_signals():
        with signals_deferred():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("the block to its end")
        done.append("never")
    assert done == ["the block to its end"]


def test_settings_of_the_caller_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_LEDGER_DATABASE_URL", "postgresql://elsewhere")
    monkeypatch.setenv("PATH_OF_ANOTHER", "kept")
    forget_settings()
    assert "POSTROOM_LEDGER_DATABASE_URL" not in os.environ
    assert os.environ["PATH_OF_ANOTHER"] == "kept"
