"""Every emulator: faults before and after the call is executed, the journal, and emulators as processes."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, IncompleteRead, RemoteDisconnected
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from googleapiclient.errors import HttpError

from sandbox.emulator.control import ControlRefused, FaultOrder, GmailAccount, GmailControl
from sandbox.emulator.emulator import Emulator
from tests.sandbox.letters import draft_body, encoded, letter, reply
from tests.sandbox.sdk import GmailUsers, gmail_users
from tests.waiting import eventually

ROOT = Path(__file__).parents[3]


def sends(account: GmailAccount) -> int:
    return len(account.state().labelled("SENT"))


def test_a_drop_after_the_call_makes_the_real_client_send_twice(
    control: GmailControl, users: GmailUsers, account: GmailAccount
) -> None:
    users.getProfile(userId="me").execute()
    control.order(FaultOrder(operation="messages.send", drop="after"))
    users.messages().send(userId="me", body={"raw": encoded(letter(to="ana@example.org"))}).execute()
    first, second = control.journal("messages.send")
    assert (first.status, second.status) == (None, 200)
    assert first.summary["message_id"] != second.summary["message_id"]
    assert first.fault == {"operation": "messages.send", "drop": "after"}
    assert sends(account) == 2


def test_a_drop_before_the_call_does_nothing(control: GmailControl, users: GmailUsers, account: GmailAccount) -> None:
    control.order(FaultOrder(operation="drafts.create", drop="before", times=2))
    with pytest.raises(RemoteDisconnected):
        users.drafts().create(userId="me", body=draft_body(reply())).execute()
    assert account.state().drafts == []
    assert [call.status for call in control.journal("drafts.create")] == [None, None]


def test_503_after_the_call(control: GmailControl, users: GmailUsers, account: GmailAccount) -> None:
    draft = users.drafts().create(userId="me", body=draft_body(reply())).execute()
    control.order(FaultOrder(operation="drafts.send", status=503, after_execution=True))
    with pytest.raises(HttpError) as refused:
        users.drafts().send(userId="me", body={"id": draft["id"]}).execute()
    assert refused.value.status_code == 503
    assert sends(account) == 1
    (call,) = control.journal("drafts.send")
    assert (call.status, call.summary["draft_id"]) == (503, draft["id"])


def ask_for_labels(url: str) -> bytes:
    """One plain request, by a client that repeats and repairs nothing."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=10)
    with closing(connection):
        connection.request("GET", "/gmail/v1/users/me/labels", headers={"Authorization": "Bearer access-1"})
        return connection.getresponse().read()


@pytest.mark.parametrize(
    ("order", "error"),
    [
        (FaultOrder(ending="cut"), IncompleteRead),
        (FaultOrder(ending="reset"), ConnectionResetError),
    ],
)
def test_an_answer_is_cut_off_or_the_connection_reset(
    control: GmailControl, account: GmailAccount, order: FaultOrder, error: type[Exception]
) -> None:
    assert account.state().drafts == []
    control.order(order)
    with pytest.raises(error):
        ask_for_labels(control.url)
    assert [call.status for call in control.journal("labels.list")] == [200], "the call was executed"
    assert b'"labels"' in ask_for_labels(control.url)


@pytest.mark.parametrize("text", ["<html>Sorry</html>", ""])
def test_an_answer_need_not_be_json(control: GmailControl, account: GmailAccount, text: str) -> None:
    assert account.state().drafts == []
    control.order(FaultOrder(status=200, after_execution=True, text=text))
    assert ask_for_labels(control.url) == text.encode()


def test_the_journal_knows_the_call_before_the_hang_ends(
    gmail: Emulator, control: GmailControl, account: GmailAccount
) -> None:
    control.order(FaultOrder(operation="drafts.create", hang_s=60))
    code = (
        "import sys; from tests.sandbox.sdk import gmail_users; from tests.sandbox.letters import draft_body, reply\n"
        "with gmail_users(sys.argv[1]) as users: users.drafts().create(userId='me', body=draft_body(reply())).execute()"
    )
    with subprocess.Popen([sys.executable, "-c", code, gmail.url], cwd=ROOT) as worker:  # noqa: S603  # our own code
        (call,) = control.wait_for("drafts.create", timeout_s=30)
        worker.kill()
    assert call.status == 200
    assert [draft["draft_id"] for draft in account.state().drafts] == [call.summary["draft_id"]]


@pytest.mark.parametrize("order", [FaultOrder(delay_s=60), FaultOrder(hang_s=60)], ids=["before", "after"])
def test_whoever_clears_the_orders_lets_go_the_calls_that_wait(
    control: GmailControl, account: GmailAccount, order: FaultOrder
) -> None:
    assert account.state().drafts == []
    control.order(order)
    with ThreadPoolExecutor(1) as other:
        asked = other.submit(ask_for_labels, control.url)
        eventually(lambda: control.open_faults() == [], describe="the call to be hit")
        control.clear_faults()
        assert b'"labels"' in asked.result()


def test_faults_match_by_path_account_and_count(gmail: Emulator, control: GmailControl, account: GmailAccount) -> None:
    control.create_account("other@example.com", "access-other", "refresh-other")
    control.order(FaultOrder(method="GET", path="/labels$", account=account.email, skip=1, times=1, status=500))
    with gmail_users(gmail.url) as users, gmail_users(gmail.url, "access-other") as others:
        users.labels().list(userId="me").execute()
        others.labels().list(userId="me").execute()
        with pytest.raises(HttpError):
            users.labels().list(userId="me").execute()
        users.labels().list(userId="me").execute()
    assert control.open_faults() == []
    control.order(FaultOrder(operation="labels.*", status=500, times=None))
    assert len(control.open_faults()) == 1
    control.clear_faults()
    assert control.open_faults() == []


def test_orders_that_mean_nothing_are_refused(control: GmailControl, account: GmailAccount) -> None:
    with pytest.raises(ControlRefused, match="statsu"):
        control.post("/_control/faults", {"faults": [{"statsu": 500}]})
    with pytest.raises(ControlRefused, match="whole, cut, reset"):
        control.post("/_control/faults", {"faults": [{"ending": "happy"}]})
    with pytest.raises(ControlRefused, match="gravity"):
        account.turn(gravity=0)
    with pytest.raises(ControlRefused, match="no account"):
        control.account("nobody@example.com").state()
    with pytest.raises(ControlRefused, match="badOrder"):
        control.post("/_control/accounts", {"email": "x@example.com"})


def test_control_calls_are_not_journalled_and_reset_forgets(control: GmailControl, users: GmailUsers) -> None:
    users.getProfile(userId="me").execute()
    assert [call.operation for call in control.journal()] == ["getProfile"]
    with pytest.raises(TimeoutError):
        control.wait_for("drafts.send", timeout_s=0.01)
    control.reset()
    assert control.journal() == []
    assert control.get("/_control/accounts") == {"accounts": []}


def test_unknown_addresses_are_404_and_long_ones_come_by_post(
    control: GmailControl, users: GmailUsers, account: GmailAccount
) -> None:
    account.deliver(letter())
    query = " ".join(["subject:lunch"] * 300)
    assert len(users.messages().list(userId="me", q=query).execute()["messages"]) == 1
    assert control.journal("messages.list")[0].method == "GET"
    with pytest.raises(HttpError) as unknown:
        users.settings().getVacation(userId="me").execute()
    assert unknown.value.status_code == 404
    assert control.journal("unknown")[0].path.endswith("/settings/vacation")


@pytest.mark.parametrize("options", [["--account", "reader@example.com:access-1:refresh-1"]])
def test_it_runs_as_a_process_and_leaves_on_sigterm(options: list[str]) -> None:
    command = [sys.executable, "-W", "error", "-m", "sandbox.google.gmail", "--port", "0", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603  # ours
        assert process.stdout
        url = process.stdout.readline().strip()
        with gmail_users(url) as users:
            assert users.getProfile(userId="me").execute()["emailAddress"] == "reader@example.com"
        GmailControl(url).order(FaultOrder(operation="labels.list", delay_s=600))
        os.kill(process.pid, signal.SIGTERM)
        assert process.communicate(timeout=20) == ("", "")
    assert process.returncode == 0
