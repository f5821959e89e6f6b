"""The image that `make image` built: small, without rights, and whole enough for every process."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.compose_images import OURS, buildah
from tests.deploy.image import BASE, has_image
from tests.deploy.machine_needs import needs
from tests.examples.shop.running_shop import PROJECT
from tests.written_pages import DOCS, Page

pytestmark = [needs("buildah"), pytest.mark.skipif(not has_image(), reason="make image was not run")]
MOST_BYTES = 250_000_000
LIBRARIES = "/opt/postroom/lib"
SOME_LIBRARIES = 40
SHOP = "localhost/postroom-shop-of-the-tests"


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
    made = "from providers.google.gmail_methods import gmail_methods; print(bool(gmail_methods().send_as))"
    assert inside(container, "python", "-c", made) == "True"
    found = inside(container, "find", LIBRARIES, "-path", "*/discovery_cache/documents/*").splitlines()
    assert [Path(path).name for path in found] == ["gmail.v1.json"]


def test_every_library_loads_that_was_stripped(container: str) -> None:
    found = f"pathlib.Path('{LIBRARIES}').rglob('*.so')"
    load = f"import ctypes, pathlib; print(len([ctypes.CDLL(str(one)) for one in {found}]))"
    assert int(inside(container, "python", "-c", load)) > SOME_LIBRARIES


@pytest.fixture(scope="module")
def with_the_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A container of the image that the page of own jobs builds, as this machine reaches the packages."""
    (dockerfile,) = Page(DOCS / "howto" / "bring-your-own-jobs.md").code("dockerfile")
    file = tmp_path_factory.mktemp("shop") / "Dockerfile"
    file.write_text(dockerfile)
    here = [path for path in ("/etc/ssl/certs", "/etc/pip.conf") if Path(path).exists()]
    mounts = [f"--volume={path}:{path}:ro" for path in here]
    buildah("bud", "--isolation", "chroot", "--pull-never", *mounts, f"--file={file}", f"--tag={SHOP}", str(PROJECT))
    name = buildah("from", "--pull-never", SHOP)
    yield name
    buildah("rm", name)
    buildah("rmi", SHOP)


def test_the_page_of_own_jobs_makes_an_image_that_has_them(with_the_shop: str, container: str) -> None:
    """And nothing but them is new in it: no installer, and no library in another version."""
    found = "import tasks, engine.catalogue as e; print(e.catalogue.find('orders.confirm').handler.__module__)"
    assert inside(with_the_shop, "python", "-c", found) == "shop.jobs.orders"
    assert inside(with_the_shop, "id", "-u") == "10001"
    versions = "from importlib.metadata import distributions as d; print(*sorted(f'{a.name}={a.version}' for a in d()))"
    ours, theirs = (inside(each, "python", "-c", versions).split() for each in (container, with_the_shop))
    assert {*theirs} - {*ours} == {"shop=1.0"}
    assert len(theirs) == len(ours) + 1


def test_no_installer_and_no_test_of_a_package_is_in_it(container: str) -> None:
    """That what pip installed fits together, `pip check` has said while the image was built."""
    unwanted = ["-name", "tests", "-o", "-name", "pip", "-o", "-name", "setuptools"]
    assert inside(container, "find", LIBRARIES, "-type", "d", "(", *unwanted, ")") == ""
