"""The image that `make image` built, if it did."""

import shutil
import subprocess

NAME, BASE = "postroom", "localhost/postroom-base"


def has_image() -> bool:
    """Whether buildah is here and has it."""
    if shutil.which("buildah") is None:
        return False
    found = subprocess.run(["buildah", "inspect", "--type", "image", NAME], capture_output=True, check=False)  # noqa: S603, S607  # constant words
    return found.returncode == 0
