"""What a test of deployment files needs of its machine."""

import os
import shutil

import pytest


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip what needs root and programs that are not here."""
    missing = [program for program in programs if shutil.which(program) is None]
    if os.geteuid() != 0:
        missing.insert(0, "root")
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")
