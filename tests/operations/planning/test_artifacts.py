"""Artifacts by command; by HTTP they are in `tests/gateway/`."""

import hashlib
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from commands.artifacts import artifacts
from engine.runtime import Runtime
from tests.commands.calling import answer, refusal


def audited(database: Connection) -> list[tuple[str, str]]:
    rows = database.execute("select event, actor_id from audit_entries where event like 'artifact.%%' order by id")
    return [(row[0], row[1]) for row in rows]


def test_a_file_is_stored_linked_revoked_and_deleted_by_command(
    process: Runtime, org: UUID, database: Connection, tmp_path: Path
) -> None:
    process.settings = process.settings.model_copy(update={"public_url": "https://mail.example.org"})
    file = tmp_path / "Übersicht.csv"
    file.write_bytes(b"a;b\r\n")
    made = answer(artifacts, "put", file, "--org", org, "--media-type", "text/csv", "--as", "ada")
    assert (made["name"], made["media_type"], made["size"]) == ("Übersicht.csv", "text/csv", 5)
    assert made["sha256"] == hashlib.sha256(b"a;b\r\n").hexdigest()
    assert answer(artifacts, "list", "--org", org) == [made]
    assert answer(artifacts, "show", made["artifact_id"]) == made
    link = answer(artifacts, "link", made["artifact_id"], "--lasts-s", 60, "--as", "ada")
    assert link["url"].startswith(f"https://mail.example.org/a/{made['artifact_id']}?until=")
    assert answer(artifacts, "revoke", made["artifact_id"], "--as", "ada")["state"] == "ready"
    assert answer(artifacts, "delete", made["artifact_id"], "--as", "ada")["state"] == "deleted"
    assert "was deleted" in refusal(artifacts, "delete", made["artifact_id"])
    assert audited(database) == [
        (f"artifact.{event}", "operator:ada") for event in ("stored", "link_given", "links_revoked", "deleted")
    ]


@pytest.mark.usefixtures("process")
def test_what_cannot_be_stored_is_refused_by_command(org: UUID, database: Connection, tmp_path: Path) -> None:
    for name, data, words in (("empty", b"", "no bytes"), ("a.gz", b"\x1f\x8b\x08", "gzip")):
        (tmp_path / name).write_bytes(data)
        assert words in refusal(artifacts, "put", tmp_path / name, "--org", org)
    assert "there is no artifact" in refusal(artifacts, "show", uuid4())
    assert audited(database) == []
