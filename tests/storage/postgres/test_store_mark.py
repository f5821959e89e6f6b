"""The mark of the folder of artifacts is made by who migrates, and only where nothing was ever stored."""

from pathlib import Path

from psycopg import Connection
from pydantic import SecretStr

from domain.planning.files.artifact_urls import MARK
from providers.artifacts.obstore_store import ObstoreArtifacts
from settings import Settings
from storage.postgres.database import Database
from storage.postgres.migrate import upgrade
from tests.doubles.factories import make_org
from tests.doubles.stored_artifacts import bucket_url, store_artifact


def at(settings: Settings, folder: Path) -> Settings:
    return settings.model_copy(update={"artifacts_url": SecretStr(f"file://{folder}")})


def test_a_new_installation_can_use_its_folder_at_once(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "mounted").mkdir()
    for folder in (tmp_path / "new", tmp_path / "mounted"):
        for _ in range(2):
            upgrade(at(settings, folder))
        ObstoreArtifacts(at(settings, folder).artifacts_url).put("org/one", [b"words"])


def test_a_folder_that_cannot_be_made_keeps_no_migration_back(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "folder", tmp_path / "no" / "parent"):
        upgrade(at(settings, folder))
    assert not (tmp_path / "no").exists()
    upgrade(settings.model_copy(update={"artifacts_url": bucket_url("http://127.0.0.1:1")}))


def test_a_store_that_had_files_and_lost_its_mark_is_not_marked_again(
    settings: Settings, store: Database, database: Connection, tmp_path: Path
) -> None:
    with store.ledger() as tx:
        store_artifact(tx, settings, make_org(database))
    folder = tmp_path / "artifacts"
    folder.rename(tmp_path / "elsewhere")
    upgrade(settings)
    assert not folder.exists()
    folder.mkdir()
    upgrade(settings)
    assert not (folder / MARK).exists()
