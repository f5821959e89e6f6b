"""`celery -A tasks inspect ledger` is known to the command line, which sends only names that its process knows."""

import subprocess
import sys

from tests.house.reading import ROOT


def test_the_command_line_knows_the_worker_s_own_inspection() -> None:
    known = "import engine.app; from celery.worker.control import Panel; print(sorted(Panel.meta))"
    answer = subprocess.run([sys.executable, "-c", known], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603  # the arguments are constants
    assert "'ledger'" in answer.stdout
