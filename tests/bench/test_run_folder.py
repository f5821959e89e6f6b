import os
import subprocess
import sys
from pathlib import Path

from bench import measured_job
from bench.run_folder import RunFolder
from tests.house.reading import ROOT


def run_job(run_folder: RunFolder, *lines: str) -> None:
    program = "\n".join(["from bench import measured_job", *lines])
    environment = {**os.environ, measured_job.VARIABLE: str(run_folder.folder)}
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, check=True, timeout=60)  # noqa: S603  # our own program


def test_a_process_reports_waits_at_the_start_barrier_and_its_jobs_are_counted(tmp_path: Path) -> None:
    run_folder = RunFolder(tmp_path / "run")
    assert (run_folder.jobs_done(), run_folder.ready(), run_folder.latencies_ms()) == (0, 0, [])
    run_folder.release_start_barrier()
    for expected in (1, 2):
        run_job(run_folder, "measured_job.count()", "measured_job.count()", "measured_job.record_latency(0)")
        assert (run_folder.jobs_done(), run_folder.ready(), len(run_folder.latencies_ms())) == (
            2 * expected,
            expected,
            expected,
        )


def test_coroutines_are_counted_too(tmp_path: Path) -> None:
    run_folder = RunFolder(tmp_path / "run")
    run_folder.release_start_barrier()
    run_job(run_folder, "import asyncio", "asyncio.run(measured_job.wait_async(0))", "measured_job.wait(0)")
    assert (run_folder.jobs_done(), run_folder.ready()) == (2, 1)


def test_a_run_folder_begins_empty(tmp_path: Path) -> None:
    before = RunFolder(tmp_path)
    before.release_start_barrier()
    (tmp_path / "done").write_text("...")
    assert before.jobs_done() == 3
    assert RunFolder(tmp_path).jobs_done() == 0
    assert not (tmp_path / "start").exists()


def test_gaps_are_random_and_the_same_for_every_contender() -> None:
    gaps = measured_job.gaps(500)
    assert gaps == measured_job.gaps(500)
    assert len(set(gaps)) == 500
    assert all(gap > 0 for gap in gaps)
