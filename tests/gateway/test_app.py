"""The application as a process of its own: started by its factory, logging structured and redacted records."""

import os
import subprocess
import sys
from pathlib import Path

from gateway.app import create_app
from sandbox.servers.free_port import find_free_port
from settings import Settings
from tests.doubles.factories import make_settings
from tests.gateway.serving import ask, serve
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
SECRET = "Bearer abcdefghijklmnopqrstuvwxyz"


def test_the_factory_serves_and_logs_no_secret(settings: Settings, tmp_path: Path) -> None:
    port = find_free_port()
    environment = os.environ | {"POSTROOM_DATABASE_URL": settings.database_url.get_secret_value()}
    command = [sys.executable, "-m", "gateway", "--port", str(port)]
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(command, cwd=ROOT, env=environment, stderr=log) as process,  # noqa: S603  # our own command
    ):
        try:
            eventually(lambda: answers(port), within=30, describe="the gateway never answered")
            headers = {"Authorization": SECRET, "X-Request-Id": "request-9"}
            assert ask(f"http://127.0.0.1:{port}/webhooks/gmail", b"{}", headers).status == 403
        finally:
            process.terminate()
        assert process.wait(20) in {0, -15}
    text = (tmp_path / "log").read_text()
    assert SECRET.removeprefix("Bearer ") not in text
    assert '"request_id": "request-9"' in text
    assert all(line.startswith("{") for line in text.splitlines() if "request" in line)


def answers(port: int) -> bool:
    try:
        return ask(f"http://127.0.0.1:{port}/healthz").status == 200
    except OSError:
        return False


def test_a_bad_setting_ends_it_with_one_line() -> None:
    environment = os.environ | {"POSTROOM_PUBLIC_URL": "https://hunter2@mail.example.org"}
    command = [sys.executable, "-m", "gateway", "--port", str(find_free_port())]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  # as above
    assert done.returncode == 1
    assert done.stderr.startswith("Error: settings: POSTROOM_PUBLIC_URL: ")
    assert len(done.stderr.splitlines()) == 1
    assert "hunter2" not in done.stderr


def test_no_path_is_sent_on_to_the_host_that_a_request_names(settings: Settings) -> None:
    with serve(settings) as url:
        for path in ("/d/018f/?person=p&sig=secret", "/v1/jobs/", "/healthz/"):
            assert ask(url + path, headers={"Host": "evil.example"}).status == 404


def test_a_form_that_is_none_is_refused_where_no_key_is_asked_for(settings: Settings) -> None:
    with serve(settings) as url:
        assert ask(f"{url}/oauth/google/start", b"link=a&link=b").status == 422
        assert ask(f"{url}/oauth/google/start", b"a=1&" * 200).status == 422


def test_routes_are_read_once_and_each_application_has_a_list_of_its_own() -> None:
    first, second = create_app(make_settings()), create_app(make_settings())
    assert all(one is other for one, other in zip(first.routes, second.routes, strict=True))
    first.add_api_route("/of-the-first", lambda: None)
    assert len(first.routes) == len(second.routes) + 1
