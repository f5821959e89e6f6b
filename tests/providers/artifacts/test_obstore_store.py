"""The store of artifacts, in a folder and in an emulated bucket: both do the same, and each call ends in time."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from domain.jobs.failures import Conflict, Gone, Scope, Throttled
from providers.artifacts.obstore_store import AsyncObstoreArtifacts, ObstoreArtifacts
from sandbox.emulator.fault_order import FaultOrder
from sandbox.s3.s3 import S3Control, s3_emulator
from sandbox.s3.service import ACCESS_KEY, SECRET_KEY
from settings import Settings
from storage.postgres.store_mark import mark_store
from tests.house.reading import ROOT

WITHIN_S = 0.5
KILLED = """
import resource, signal, sys
from pydantic import SecretStr
from providers.artifacts.obstore_store import ObstoreArtifacts

signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
ObstoreArtifacts(SecretStr(sys.argv[1])).put("org/one", [bytes(10_000)])
"""
"""A process that dies in the middle of a put: no file of it may have more than 1,000 bytes."""


@pytest.fixture
def s3() -> Iterator[S3Control]:
    with s3_emulator() as emulator:
        yield S3Control(emulator.url)


def bucket(s3: S3Control, *, secret: str = SECRET_KEY, name: str = "postroom") -> SecretStr:
    return SecretStr(f"s3://{ACCESS_KEY}:{secret}@{name}/kept?region=eu-central-1&endpoint={s3.url}")


@pytest.fixture(params=["folder", "bucket"])
def url(request: pytest.FixtureRequest, s3: S3Control, tmp_path: Path) -> SecretStr:
    return marked(tmp_path / "folder") if request.param == "folder" else bucket(s3)


def marked(folder: Path) -> SecretStr:
    """The setting that names a folder, and the folder with its mark."""
    settings = Settings(artifacts_url=SecretStr(f"file://{folder}"))
    mark_store(settings)
    return settings.artifacts_url


def test_what_is_put_is_read_whole_and_in_parts(url: SecretStr) -> None:
    store = ObstoreArtifacts(url)
    store.put("org/one", iter([b"first ", b"", b"second"]))
    assert store.read("org/one", 0, 12) == b"first second"
    assert store.read("org/one", 6, 100) == b"second"
    assert store.read("org/one", 3, 3) == b""


def test_a_place_is_written_once(url: SecretStr) -> None:
    store = ObstoreArtifacts(url)
    store.put("org/one", [b"first"])
    with pytest.raises(Conflict):
        store.put("org/one", [b"second"])
    assert store.read("org/one", 0, 9) == b"first"


def test_what_breaks_off_leaves_nothing(url: SecretStr) -> None:
    def cut_off() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError("cut off")

    store = ObstoreArtifacts(url)
    with pytest.raises(RuntimeError, match="cut off"):
        store.put("org/one", cut_off())
    assert store.listed(after="", limit=10) == []


def test_what_a_killed_process_has_begun_is_listed_and_can_be_removed(tmp_path: Path) -> None:
    """obstore hides it; the sweep needs to see it."""
    url = marked(tmp_path / "folder")
    words = [sys.executable, "-c", KILLED, url.get_secret_value()]
    killed = subprocess.run(words, cwd=ROOT, check=False)  # noqa: S603  # our own words
    assert killed.returncode == -signal.SIGXFSZ
    store = ObstoreArtifacts(url)
    (left,) = store.listed(after="", limit=10)
    assert (left.place, left.size) == ("org/one#1", 1000)
    assert store.listed(after=left.place, limit=10) == []
    store.delete([left.place, left.place])
    assert store.listed(after="", limit=10) == []


def test_lists_are_in_order_and_go_on(url: SecretStr) -> None:
    store = ObstoreArtifacts(url)
    for place in ("b/2", "a/1", "b/10", "b/1"):
        store.put(place, [place.encode()])
    first = store.listed(after="", limit=3)
    assert [one.place for one in first] == ["a/1", "b/1", "b/10"]
    assert [one.place for one in store.listed(after=first[-1].place, limit=3)] == ["b/2"]
    assert [one.size for one in first] == [3, 3, 4]
    assert all(abs(one.stored_at.timestamp() - time.time()) < 60 for one in first)


def test_what_is_deleted_is_gone_and_may_be_deleted_again(url: SecretStr) -> None:
    store = ObstoreArtifacts(url)
    store.put("org/one", [b"1"])
    store.put("org/two", [b"2"])
    store.delete(["org/none", "org/one"])
    store.delete(["org/one"])
    with pytest.raises(Gone):
        store.read("org/one", 0, 1)
    assert store.read("org/two", 0, 1) == b"2"


def test_an_event_loop_reads_what_it_has_put(url: SecretStr) -> None:
    async def both() -> bytes:
        store = AsyncObstoreArtifacts(url)
        await store.put("org/one", b"some words")
        with pytest.raises(Conflict):
            await store.put("org/one", b"others")
        with pytest.raises(Gone):
            await store.read("org/none", 0, 4)
        return await store.read("org/one", 5, 10)

    assert asyncio.run(both()) == b"words"


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (FaultOrder(operation="objects.*", status=503, reason="SlowDown"), "artifacts.http_503"),
        (FaultOrder(operation="objects.*", status=403, reason="AccessDenied"), "artifacts.refused"),
        (FaultOrder(operation="objects.*", drop="before"), "artifacts.unavailable"),
        (FaultOrder(operation="objects.*", delay_s=5), "artifacts.unavailable"),
    ],
)
def test_a_bucket_in_trouble_fails_once_and_in_time(s3: S3Control, fault: FaultOrder, code: str) -> None:
    store, began = ObstoreArtifacts(bucket(s3), within_s=WITHIN_S), time.monotonic()
    s3.order(fault)
    with pytest.raises(Throttled) as caught:
        store.put("org/one", [b"words"])
    assert caught.value.code == code
    assert s3.url not in caught.value.reason
    assert time.monotonic() - began < 5 * WITHIN_S
    assert len(s3.journal("objects.put")) <= 1


def test_an_answer_that_is_cut_off_is_no_artifact(s3: S3Control) -> None:
    store = ObstoreArtifacts(bucket(s3), within_s=WITHIN_S)
    store.put("org/one", [b"words"])
    s3.order(FaultOrder(operation="objects.get", ending="cut"))
    with pytest.raises(Throttled) as caught:
        store.read("org/one", 0, 5)
    assert caught.value.scope is Scope.ORG_PROVIDER, "one answer says nothing of the bucket"


def test_an_event_loop_waits_for_no_bucket_for_long(s3: S3Control) -> None:
    s3.order(FaultOrder(operation="objects.put", hang_s=5))
    with pytest.raises(Throttled):
        asyncio.run(AsyncObstoreArtifacts(bucket(s3), within_s=WITHIN_S).put("org/one", b"words"))


def test_what_an_operator_has_to_mend_is_said_in_words(s3: S3Control, tmp_path: Path) -> None:
    def code_of(url: SecretStr) -> str:
        with pytest.raises(Throttled) as caught:
            ObstoreArtifacts(url).put("org/one", [b"words"])
        assert (caught.value.scope, caught.value.grows) == (Scope.PROVIDER, True)
        return caught.value.code

    assert code_of(bucket(s3, secret="another")) == "artifacts.refused"
    assert code_of(bucket(s3, name="another")) == "artifacts.no_bucket"
    s3.set_room(3)
    assert code_of(bucket(s3)) == "artifacts.full"
    (tmp_path / "file").touch()
    assert code_of(SecretStr(f"file://{tmp_path}/file/folder")) == "artifacts.away"
    assert code_of(SecretStr("s3://a:b@bucket?endpoint=http://127.0.0.1:1")) == "artifacts.away"


def gone(folder: Path) -> None:
    """As where a volume is not mounted whose folder is on it."""
    folder.rename(folder.with_name("elsewhere"))


def empty(folder: Path) -> None:
    """As where a volume is not mounted at the folder."""
    gone(folder)
    folder.mkdir()


def file(folder: Path) -> None:
    """Something else has the name."""
    gone(folder)
    folder.touch()


@pytest.mark.parametrize("leave", [gone, empty, file])
def test_a_folder_without_its_mark_is_away_and_nobody_makes_it_again(
    leave: Callable[[Path], None], tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    url = marked(folder)
    store, waiting = ObstoreArtifacts(url), AsyncObstoreArtifacts(url)
    store.put("org/one", [b"words"])
    assert asyncio.run(waiting.read("org/one", 0, 5)) == b"words"
    leave(folder)
    calls: list[Callable[[], object]] = [
        lambda: store.put("org/two", [b"words"]),
        lambda: store.read("org/one", 0, 5),
        lambda: store.listed(after="", limit=10),
        lambda: store.delete(["org/one"]),
        lambda: store.delete(["org/one#1"]),
        lambda: asyncio.run(waiting.put("org/two", b"words")),
        lambda: asyncio.run(waiting.read("org/one", 0, 5)),
        lambda: ObstoreArtifacts(url).read("org/one", 0, 5),
        lambda: asyncio.run(AsyncObstoreArtifacts(url).put("org/two", b"words")),
    ]
    for call in calls:
        with pytest.raises(Throttled) as caught:
            call()
        assert (caught.value.code, caught.value.scope) == ("artifacts.away", Scope.PROVIDER)
    assert not folder.is_dir() or list(folder.iterdir()) == []
    folder.rmdir() if folder.is_dir() else folder.unlink(missing_ok=True)
    folder.with_name("elsewhere").rename(folder)
    assert store.read("org/one", 0, 5) == b"words"
    assert [one.place for one in store.listed(after="", limit=10)] == ["org/one"]
