"""`PUT /v1/artifacts`: a file comes in whole, or not at all."""

import hashlib
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from psycopg import Connection

from domain.orgs.access.api_keys import Role
from domain.planning.files.digests import written
from engine.runtime import Runtime
from sandbox.emulator.fault_order import FaultOrder
from sandbox.s3.s3 import S3Control, s3_emulator
from settings import Settings
from storage.postgres.database import Database
from tests.doubles.stored_artifacts import bucket_url, files_in
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import HttpAnswer, ask, serve
from tests.waiting import eventually

MOST = 100_000
CSV = b"person,from,until\r\nAda,08:00,12:00\r\n"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"artifact_bytes": MOST})


def put(client: Client, body: bytes, headers: Mapping[str, str] | None = None, query: str = "name=a.csv") -> HttpAnswer:
    given = {"Authorization": f"Bearer {client.key}", "Content-Type": "text/csv"} | dict(headers or {})
    return ask(f"{client.url}/v1/artifacts?{query}", body, given, "PUT")


def kept_files(tmp_path: Path) -> list[Path]:
    return sorted(files_in(tmp_path / "artifacts"))


def count_rows(database: Connection) -> int:
    row = database.execute("select count(*) from artifacts").fetchone()
    assert row is not None
    return int(row[0])


def test_a_file_is_stored_and_described(client: Client, stranger: Client, tmp_path: Path) -> None:
    digest = hashlib.sha256(CSV).hexdigest()
    answer = put(client, CSV, {"Content-Digest": written(digest)}, "name=verf%C3%BCgbar.csv&kind=availability")
    made = answer.json
    assert (answer.status, answer.headers["location"]) == (201, f"/v1/artifacts/{made['artifact_id']}")
    told = {name: made[name] for name in ("name", "kind", "media_type", "size", "sha256", "state", "org_id")}
    assert told == {
        "name": "verfügbar.csv", "kind": "availability", "media_type": "text/csv", "size": len(CSV), "sha256": digest,
        "state": "ready", "org_id": str(client.org_id),
    }  # fmt: skip
    (file,) = kept_files(tmp_path)
    assert file.read_bytes() == CSV
    assert client.get(f"/v1/artifacts/{made['artifact_id']}").json == made
    assert [one["artifact_id"] for one in client.get("/v1/artifacts").json["artifacts"]] == [made["artifact_id"]]
    assert stranger.get(f"/v1/artifacts/{made['artifact_id']}").status == 404
    assert stranger.get("/v1/artifacts").json["artifacts"] == []


@pytest.mark.parametrize(
    ("body", "headers", "query", "status", "field"),
    [
        (b"", {}, "name=a.csv", 422, "body"),
        (b"x" * (MOST + 1), {}, "name=a.csv", 413, None),
        (b"\x1f\x8b\x08\x00packed", {}, "name=a.csv", 422, "body"),
        (CSV, {"Content-Encoding": "gzip"}, "name=a.csv", 415, None),
        (CSV, {"Content-Digest": written("0" * 64)}, "name=a.csv", 422, "Content-Digest"),
        (CSV, {"Content-Digest": "sha-512=:AAAA:"}, "name=a.csv", 422, "Content-Digest"),
        (CSV, {"Content-Type": "csv"}, "name=a.csv", 422, "media_type"),
        (CSV, {}, "name=..%2Fa.csv", 422, "name"),
        (CSV, {}, "name=a.csv&kind=A", 422, "kind"),
        (CSV, {}, "kind=a", 422, "name"),
    ],
)
def test_what_is_refused_leaves_nothing(
    client: Client, database: Connection, tmp_path: Path, body: bytes, headers: dict[str, str], query: str, status: int,
    field: str | None,
) -> None:  # fmt: skip
    answer = put(client, body, headers, query)
    assert (answer.status, answer.json.get("field")) == (status, field)
    assert count_rows(database) == 0
    assert kept_files(tmp_path) == []


def test_a_reader_stores_nothing(store: Database, door: str, org: UUID) -> None:
    assert put(client_of(store, door, org, Role.READER), CSV).status == 403
    assert ask(f"{door}/v1/artifacts?name=a.csv", CSV, {"Content-Type": "text/csv"}, "PUT").status == 401


class SlowUpload:
    """A request whose body comes as its client likes."""

    def __init__(self, client: Client, head: str) -> None:
        parts = urlsplit(client.url)
        assert parts.hostname is not None
        assert parts.port is not None
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=10)
        lines = [f"PUT /v1/artifacts?name=a.csv HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {client.key}"]
        self.socket.sendall(f"{lines[0]}\r\nContent-Type: text/csv\r\n{head}\r\n\r\n".encode())

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self) -> bytes:
        return self.socket.recv(4096)


def test_a_file_that_is_cut_off_is_not_stored(client: Client, database: Connection, tmp_path: Path) -> None:
    upload = SlowUpload(client, "Content-Length: 1000")
    upload.send(b"x" * 500)
    upload.socket.close()
    assert put(client, CSV).status == 201
    assert count_rows(database) == 1
    assert [one.read_bytes() for one in kept_files(tmp_path)] == [CSV]


def test_a_file_that_is_too_long_is_refused_while_it_streams(client: Client, tmp_path: Path) -> None:
    upload = SlowUpload(client, "Transfer-Encoding: chunked")
    piece = os.urandom(10_000)
    for _ in range(MOST // len(piece) + 1):
        upload.send(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    assert b" 413 " in upload.answer()
    upload.socket.close()
    assert kept_files(tmp_path) == []


def test_slow_uploads_take_no_place_of_another_org_and_none_for_requests(client: Client, stranger: Client) -> None:
    slow = [SlowUpload(client, "Content-Length: 1000\r\nExpect: 100-continue") for _ in range(2)]
    for one in slow:
        assert b"100 Continue" in one.answer(), "the gateway waits for the file by now"
    assert put(client, CSV).status == 429
    assert client.get("/v1/artifacts").status == 200
    assert put(stranger, CSV).status == 201
    for one in slow:
        one.socket.close()
    eventually(lambda: put(client, CSV).status == 201, describe="the places are not given back")


def test_the_same_request_under_a_key_is_one_artifact(client: Client, database: Connection) -> None:
    key = {"Idempotency-Key": "upload-1"}
    first, second = put(client, CSV, key), put(client, CSV, key)
    assert (first.status, second.status) == (201, 200)
    assert first.json["artifact_id"] == second.json["artifact_id"]
    assert put(client, CSV + b"more", key).status == 422
    assert count_rows(database) == 1


@pytest.fixture
def s3() -> Iterator[S3Control]:
    with s3_emulator() as emulator:
        yield S3Control(emulator.url)


def test_a_bucket_whose_answer_is_lost_leaves_bytes_and_no_row(
    settings: Settings, store: Database, process: Runtime, org: UUID, database: Connection, s3: S3Control
) -> None:
    assert process.database is not None
    s3.order(FaultOrder(operation="objects.put", status=503, reason="SlowDown", after_execution=True))
    with serve(settings.model_copy(update={"artifacts_url": bucket_url(s3.url)})) as url:
        client = client_of(store, url, org, Role.WRITER)
        answer = put(client, CSV)
        assert (answer.status, answer.json["code"]) == (503, "artifacts.http_503")
        assert (count_rows(database), len(s3.objects())) == (0, 1)
        assert put(client, CSV).status == 201
        assert (count_rows(database), len(s3.objects())) == (1, 2)


def test_an_upload_while_the_store_is_away_is_not_taken_and_makes_no_folder(
    settings: Settings, store: Database, process: Runtime, org: UUID, database: Connection, tmp_path: Path
) -> None:
    assert process.database is not None
    folder = tmp_path / "artifacts"
    folder.rename(tmp_path / "elsewhere")
    with serve(settings) as url:
        client = client_of(store, url, org, Role.WRITER)
        answer = put(client, CSV)
        assert (answer.status, answer.json["code"]) == (503, "artifacts.away")
        assert (count_rows(database), folder.exists()) == (0, False)
        (tmp_path / "elsewhere").rename(folder)
        assert put(client, CSV).status == 201
