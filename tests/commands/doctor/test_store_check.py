"""`doctor` writes to the store of artifacts, reads there, and says what an operator has to mend."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from commands.artifacts import store_check
from domain.planning.files.artifact_urls import MARK
from sandbox.s3.s3 import S3Control, s3_emulator
from settings import Settings
from tests.doubles.stored_artifacts import bucket_url, files_in


def test_a_folder_that_can_be_written_to_is_well_and_stays_empty(settings: Settings, tmp_path: Path) -> None:
    assert store_check(settings).ok
    assert files_in(tmp_path / "artifacts") == set()


def test_a_folder_that_cannot_be_is_named_with_its_setting(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "bare").mkdir()
    for folder in ("file/folder", "file", "bare", "none"):
        found = store_check(settings.model_copy(update={"artifacts_url": SecretStr(f"file://{tmp_path}/{folder}")}))
        assert not found.ok
        assert "POSTROOM_ARTIFACTS_URL" in found.remedy
        assert MARK in found.remedy
    assert {one.name for one in tmp_path.iterdir()} >= {"artifacts", "file", "bare"}
    assert not (tmp_path / "none").exists()
    assert list((tmp_path / "bare").iterdir()) == []


@pytest.mark.parametrize(("room", "words"), [(None, "tidied up"), (3, "is full")])
def test_a_bucket_is_examined_as_a_folder_is(settings: Settings, room: int | None, words: str) -> None:
    with s3_emulator() as emulator:
        s3 = S3Control(emulator.url)
        s3.set_room(room)
        found = store_check(settings.model_copy(update={"artifacts_url": bucket_url(s3.url)}))
        assert (found.ok, words in found.finding) == (room is None, True)
        assert s3.objects() == {}
