"""`GET /a/{id}`: whoever has a good link reads the file, and nobody else."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import UUID, uuid4

import pytest
from psycopg import Connection
from pydantic import SecretStr

from domain.orgs.access.api_keys import Role
from domain.planning.files.artifacts import place_of
from engine.runtime import Runtime
from gateway.artifact_links import PIECE
from settings import Settings
from storage.planning.artifacts import StoredArtifact
from storage.postgres.database import Database
from tests.doubles.factories import make_org
from tests.doubles.stored_artifacts import store_artifact
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import HttpAnswer, ask, serve

DATA = bytes(range(256)) * 4


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"public_url": "https://mail.example.org"})


@pytest.fixture
def client(settings: Settings, store: Database, process: Runtime, org: UUID) -> Iterator[Client]:
    assert process.database is not None
    with serve(settings) as url:
        yield client_of(store, url, org, Role.OPERATOR)


@pytest.fixture
def kept(settings: Settings, store: Database, org: UUID) -> StoredArtifact:
    with store.ledger() as tx:
        return store_artifact(tx, settings, org, DATA, name='Plan "é".html', media_type="text/html")


def link_to(client: Client, artifact_id: UUID, **asked: int) -> str:
    """The path of a new link, with its query."""
    answer = client.post(f"/v1/artifacts/{artifact_id}/link", asked)
    assert answer.status == 200
    parts = urlsplit(answer.json["url"])
    assert parts.netloc == "mail.example.org"
    return f"{client.url}{parts.path}?{parts.query}"


def audited(database: Connection) -> list[dict[str, object]]:
    rows = database.execute("select data from audit_entries where event = 'artifact.downloaded' order by id")
    return [row[0] for row in rows]


def test_a_link_gives_the_file_to_be_saved(client: Client, kept: StoredArtifact, database: Connection) -> None:
    answer = ask(link_to(client, kept.artifact_id))
    assert (answer.status, answer.body) == (200, DATA)
    assert answer.headers["content-type"] == "text/html"
    assert answer.headers["content-disposition"].startswith("attachment; ")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["etag"] == f'"{hashlib.sha256(DATA).hexdigest()}"'
    assert audited(database) == [{"artifact_id": str(kept.artifact_id), "start": 0, "end": len(DATA)}]


@pytest.mark.parametrize(
    ("header", "status", "body", "content_range"),
    [
        ("bytes=0-9", 206, DATA[:10], f"bytes 0-9/{len(DATA)}"),
        ("bytes=-4", 206, DATA[-4:], f"bytes {len(DATA) - 4}-{len(DATA) - 1}/{len(DATA)}"),
        ("bytes=1000-", 206, DATA[1000:], f"bytes 1000-{len(DATA) - 1}/{len(DATA)}"),
        ("bytes=0-1,5-6", 200, DATA, None),
    ],
)
def test_a_part_is_given(
    client: Client, kept: StoredArtifact, header: str, status: int, body: bytes, content_range: str | None
) -> None:
    answer = ask(link_to(client, kept.artifact_id), headers={"Range": header})
    assert (answer.status, answer.body, answer.headers.get("content-range")) == (status, body, content_range)
    assert answer.headers["content-length"] == str(len(body))


def test_bytes_beyond_the_end_are_refused_and_another_files_part_is_the_whole(
    client: Client, kept: StoredArtifact
) -> None:
    link = link_to(client, kept.artifact_id)
    beyond = ask(link, headers={"Range": "bytes=1024-"})
    assert (beyond.status, beyond.headers["content-range"]) == (416, "bytes */1024")
    assert ask(link, headers={"Range": "bytes=0-1", "If-Range": '"other"'}).status == 200
    assert ask(link, headers={"Range": "bytes=0-1", "If-Range": f'"{kept.sha256}"'}).status == 206


def test_a_head_reads_nothing(client: Client, kept: StoredArtifact, database: Connection) -> None:
    answer = ask(link_to(client, kept.artifact_id), method="HEAD", headers={"Range": "bytes=0-1"})
    assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"", str(len(DATA)))
    assert audited(database) == []


def test_a_file_of_many_pieces_comes_whole(client: Client, settings: Settings, store: Database, org: UUID) -> None:
    data = os.urandom(2 * PIECE + 1)
    with store.ledger() as tx:
        kept = store_artifact(tx, settings, org, data)
    assert ask(link_to(client, kept.artifact_id)).body == data


def altered(**changes: str) -> Callable[[str], str]:
    def change(link: str) -> str:
        parts = urlsplit(link)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()} | changes
        return parts._replace(query=urlencode(query)).geturl()

    return change


def later(link: str) -> str:
    until = int(parse_qs(urlsplit(link).query)["until"][0])
    return altered(until=str(until + 1))(link)


@pytest.mark.parametrize(
    "change",
    [
        later,
        altered(sig=""),
        altered(sig="0" * 32),
        altered(until=""),
        lambda link: link[:-1],
        lambda link: link.partition("?")[0],
        lambda link: link.replace("/a/", "/a/x"),
    ],
)
def test_an_altered_link_is_good_for_nothing(
    client: Client, kept: StoredArtifact, database: Connection, change: Callable[[str], str]
) -> None:
    assert no_such_link(ask(change(link_to(client, kept.artifact_id))))
    assert audited(database) == []


def test_a_link_reads_no_other_file(client: Client, kept: StoredArtifact, settings: Settings, store: Database) -> None:
    link = link_to(client, kept.artifact_id)
    with store.ledger() as tx:
        other = store_artifact(tx, settings, client.org_id)
    assert no_such_link(ask(link.replace(str(kept.artifact_id), str(other.artifact_id))))
    assert no_such_link(ask(link.replace(str(kept.artifact_id), str(uuid4()))))


def no_such_link(answer: HttpAnswer) -> bool:
    return (answer.status, answer.json["code"]) == (404, "no_such_link")


def test_a_revoked_a_late_and_a_deleted_link_are_answered_alike(
    client: Client, kept: StoredArtifact, database: Connection
) -> None:
    first = link_to(client, kept.artifact_id)
    assert client.post(f"/v1/artifacts/{kept.artifact_id}/revoke").status == 200
    assert no_such_link(ask(first))
    second = link_to(client, kept.artifact_id)
    assert ask(second).status == 200
    database.execute("update artifacts set expires_at = now() - interval '1 second'")
    assert no_such_link(ask(second))
    database.execute("update artifacts set expires_at = now() + interval '1 hour'")
    assert client.delete(f"/v1/artifacts/{kept.artifact_id}").json["state"] == "deleted"
    assert no_such_link(ask(second))
    assert client.post(f"/v1/artifacts/{kept.artifact_id}/link").status == 404


def test_another_org_gives_no_link_and_ends_none(
    client: Client, kept: StoredArtifact, store: Database, database: Connection
) -> None:
    link = link_to(client, kept.artifact_id)
    stranger = client_of(store, client.url, make_org(database, "another"), Role.OPERATOR)
    for path in ("link", "revoke"):
        assert stranger.post(f"/v1/artifacts/{kept.artifact_id}/{path}").status == 404
    assert stranger.delete(f"/v1/artifacts/{kept.artifact_id}").status == 404
    assert ask(link).status == 200


def test_a_link_survives_a_new_sealing_key(
    client: Client, kept: StoredArtifact, settings: Settings, process: Runtime
) -> None:
    assert process.database is not None
    link = link_to(client, kept.artifact_id).removeprefix(client.url)
    old = settings.sealing_keys.get_secret_value()
    with serve(settings.model_copy(update={"sealing_keys": SecretStr(f"new,{old}")})) as url:
        assert ask(f"{url}{link}").status == 200
    with serve(settings.model_copy(update={"sealing_keys": SecretStr("new")})) as url:
        assert no_such_link(ask(f"{url}{link}"))


def test_a_file_whose_bytes_are_gone_is_no_file(
    client: Client, kept: StoredArtifact, tmp_path: Path, database: Connection
) -> None:
    link = link_to(client, kept.artifact_id)
    (tmp_path / "artifacts" / place_of(kept.org_id, kept.artifact_id)).unlink()
    assert no_such_link(ask(link))
    assert audited(database) == []


def test_a_link_is_good_no_longer_than_its_file(client: Client, kept: StoredArtifact, database: Connection) -> None:
    database.execute("update artifacts set expires_at = now() + interval '1 hour'")
    answer = client.post(f"/v1/artifacts/{kept.artifact_id}/link", {"lasts_s": 86_400})
    row = database.execute("select date_trunc('second', expires_at) from artifacts").fetchone()
    assert row is not None
    assert answer.json["until"][:19] == row[0].isoformat()[:19]
    assert client.post(f"/v1/artifacts/{kept.artifact_id}/link", {"lasts_s": 0}).json["field"] == "lasts_s"


def test_without_a_public_address_nobody_gets_a_link(
    settings: Settings, store: Database, process: Runtime, org: UUID, kept: StoredArtifact
) -> None:
    assert process.database is not None
    with serve(settings.model_copy(update={"public_url": ""})) as url:
        answer = client_of(store, url, org, Role.OPERATOR).post(f"/v1/artifacts/{kept.artifact_id}/link")
    assert (answer.status, answer.json["code"]) == (409, "artifacts.no_url")
