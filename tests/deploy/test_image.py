"""The image that `make image` built: small, without rights, and whole enough for every process."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.compose_images import OURS, buildah
from tests.deploy.image import BASE, has_image
from tests.deploy.machine_needs import needs

pytestmark = [needs("buildah"), pytest.mark.skipif(not has_image(), reason="make image was not run")]
MOST_BYTES = 250_000_000
LIBRARIES = "/opt/postroom/lib"
SOME_LIBRARIES = 40


@pytest.fixture(scope="module")
def container() -> Iterator[str]:
    name = buildah("from", "--pull-never", OURS)
    yield name
    buildah("rm", name)


def inside(container: str, *command: str) -> str:
    return buildah("run", "--isolation", "chroot", container, "--", *command)


def size_of(image: str) -> int:
    """Bytes of all files of an image."""
    container = buildah("from", "--pull-never", image)
    try:
        root = Path(buildah("mount", container))
        return sum(path.lstat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    finally:
        buildah("rm", container)


def test_it_adds_less_than_a_quarter_of_a_gigabyte_to_its_base() -> None:
    assert size_of(OURS) - size_of(BASE) < MOST_BYTES


def test_it_runs_as_nobody_and_says_by_itself_what_it_can_do(container: str) -> None:
    assert inside(container, "id", "-u") == "10001"
    configured = json.loads(buildah("inspect", "--type", "image", OURS))["OCIv1"]["config"]
    assert configured["User"] == "10001"
    assert "doctor" in inside(container, *configured["Cmd"])


@pytest.mark.parametrize("queue", ["planning", "exports"])
def test_the_libraries_of_every_queue_are_in_it(container: str, queue: str) -> None:
    packages = {"planning": "highspy, numpy", "exports": "typst"}
    assert inside(container, "python", "-c", f"import {packages[queue]}, tasks; print('imported')") == "imported"


def test_gmails_methods_can_be_made_without_the_descriptions_of_other_apis(container: str) -> None:
    made = "from providers.google.gmail_methods import gmail_methods; print(bool(gmail_methods(None).send_as))"
    assert inside(container, "python", "-c", made) == "True"
    found = inside(container, "find", LIBRARIES, "-path", "*/discovery_cache/documents/*").splitlines()
    assert [Path(path).name for path in found] == ["gmail.v1.json"]


def test_every_library_loads_that_was_stripped(container: str) -> None:
    found = f"pathlib.Path('{LIBRARIES}').rglob('*.so')"
    load = f"import ctypes, pathlib; print(len([ctypes.CDLL(str(one)) for one in {found}]))"
    assert int(inside(container, "python", "-c", load)) > SOME_LIBRARIES


def test_no_installer_and_no_test_of_a_package_is_in_it(container: str) -> None:
    """That what pip installed fits together, `pip check` has said while the image was built."""
    unwanted = ["-name", "tests", "-o", "-name", "pip", "-o", "-name", "setuptools"]
    assert inside(container, "find", LIBRARIES, "-type", "d", "(", *unwanted, ")") == ""
