"""The examples of the description are requests that the gateway takes: each is made here, and succeeds."""

import json
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from string import Formatter
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import pytest
from pydantic import SecretStr

from domain.jobs.job import Origin
from domain.orgs.access.api_keys import Role
from gateway.api.examples import examples, filled
from gateway.api.openapi import description
from gateway.app import create_app
from settings import Settings
from storage.orgs.secrets import org_secrets
from storage.orgs.secrets.sealing import SecretPlace
from tests.doubles.approvals import ask_in_channel, waiting
from tests.doubles.factories import claim_one, enqueue_one
from tests.doubles.mail_actions import stored_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import HttpAnswer, ask, serve

Ids = dict[str, object]
DRAINED = {"request_action": "actions.%", "send_notification": "notifications.%"}
"""What runs the jobs that a request enqueues, where the next ones need what they do."""
SECRETS = {
    "resend_key": "re_" + "a" * 24,
    "sms_key": json.dumps({"account_sid": "AC" + "0" * 32, "auth_token": "1" * 32}),
}
REFUSED = {"verify_contact_point": 422, "resume_run": 409}
"""A code that was not sent, and a run that has not failed: what is refused is not the form of the request."""
NEVER_ENDS = {"stream_inbox"}


@pytest.fixture
def door(env: MailEnvironment) -> Iterator[str]:
    with serve(env.process.settings.model_copy(update={"public_url": "https://mail.example.org"})) as url:
        yield url


@pytest.fixture
def client(env: MailEnvironment, door: str) -> Client:
    return client_of(env.process.database, door, env.account.org_id, Role.OPERATOR)


@pytest.fixture(scope="module")
def routes() -> dict[str, tuple[str, str, dict[str, Any]]]:
    """By operation: its verb, its path and its description."""
    paths = description(create_app(Settings()))["paths"]
    return {one["operationId"]: (verb, path, one) for path, item in paths.items() for verb, one in item.items()}


def dead_letter(env: MailEnvironment) -> str:
    job = claim_one(env.process.database, enqueue_one(env.process.database, env.account.org_id, "gmail.sync",
                                                      payload={"account_id": str(env.account.account_id)}))  # fmt: skip
    env.database.execute(
        "update jobs set state = 'dead', finished_at = now(), next_check_at = null, claim_token = null,"
        ' worker_id = null, claimed_at = null, error = \'{"code": "x"}\' where id = %s',
        (job.job_id,),
    )
    env.database.execute("delete from serial_slots where job_id = %s", (job.job_id,))
    (found,) = env.database.execute("select id from dead_letters where job_id = %s", (job.job_id,)).fetchone() or (
        None,
    )
    return str(found)


def world(env: MailEnvironment) -> tuple[Ids, dict[str, Ids]]:
    """A mailbox with mail, and things in the states that requests need; what else single operations need."""
    place = stored_letter(env)
    ask_in_channel(env)
    letters, questions = [dead_letter(env) for _ in range(3)], [waiting(env) for _ in range(2)]
    env.database.execute(
        "insert into labels (org_id, account_id, gmail_label_id, name, kind)"
        " select org_id, id, 'Label_7', 'Money', 'user' from accounts"
    )
    with env.process.database.ledger() as tx:
        for name, value in SECRETS.items():
            org_secrets.keep(
                tx, env.process.sealer, SecretPlace(env.account.org_id, name), SecretStr(value), by=Origin()
            )
    (user,) = env.database.execute("select user_id from accounts").fetchone() or (None,)
    ids: Ids = {
        "account_id": env.account.account_id, "message_id": place.message_id, "label_id": "Label_7", "user_id": user,
        "letter_id": letters[0], "approval_id": questions[0], "seq": 1, "name": "nightly",
    }  # fmt: skip
    (dead,) = env.database.execute("select job_id from dead_letters where id = %s", (letters[2],)).fetchone() or (None,)
    special: dict[str, Ids] = {"discard_dead_letter": {"letter_id": letters[1]}, "deny": {"approval_id": questions[1]}}
    return ids, special | {"mend_job": {"job_id": dead}}


def made(client: Client, route: tuple[str, str, dict[str, Any]], example: Mapping[str, Any], ids: Ids) -> HttpAnswer:
    """The answer to an example."""
    verb, path, _ = route
    known = {**ids, **example.get("path", {})}
    query = urlencode(filled(example.get("query", {}), ids))
    url = client.url + path.format(**known) + (f"?{query}" if query else "")
    headers = {"Authorization": f"Bearer {client.key}"}
    if "raw" in example:
        return ask(url, example["raw"].encode(), headers | {"Content-Type": "text/csv"}, verb.upper())
    body = json.dumps(filled(example["body"], ids)).encode() if "body" in example else b""
    sent = None if verb == "get" else body
    return ask(url, sent, headers | ({"Content-Type": "application/json"} if body else {}), verb.upper())


def test_each_example_is_taken(env: MailEnvironment, client: Client, routes: dict[str, Any]) -> None:
    ids, besides = world(env)
    refused: dict[str, int] = {}
    have_looked = False
    for name, example in examples().items():
        if routes[name][0] == "delete" and not have_looked:
            have_looked = True
            refused |= looks(client, routes, ids)
        answer = made(client, routes[name], example, ids | besides.get(name, {}))
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            refused[name] = answer.status
            print(name, answer.body[:300])  # noqa: T201 - why, where the test fails
        ids |= {key: inside(answer.json, field) for key, field in example.get("keeps", {}).items()}
        if name in DRAINED:
            env.drain(only=DRAINED[name])
        if name == "start_run":  # no more than its beginning: time would pass until its question is over
            env.run(UUID(str(ids["run_id"])))
    assert refused == REFUSED


def inside(document: Any, path: str) -> object:  # noqa: ANN401 - any answer
    """What an answer has at a path of names and numbers; None where it is a refusal."""
    for part in path.split("."):
        document = document[int(part)] if isinstance(document, list) else document.get(part)
        if document is None:
            return None
    return document


def looks(client: Client, routes: dict[str, Any], ids: Ids) -> dict[str, int]:
    """The refusals of looks whose ids are known: they take what the path names and no more."""
    answers = {
        name: made(client, route, {}, ids)
        for name, route in routes.items()
        if route[0] == "get" and name not in NEVER_ENDS | set(examples())
        if {named for _, named, _, _ in Formatter().parse(route[1]) if named} <= set(ids)
    }
    assert len(answers) > 30
    return {name: one.status for name, one in answers.items() if one.status >= HTTPStatus.MULTIPLE_CHOICES}


def test_each_body_has_an_example_that_the_description_shows(routes: dict[str, Any]) -> None:
    bodies = {name for name, (_, _, one) in routes.items() if "requestBody" in one}
    assert bodies - set(examples()) == set()
    assert set(examples()) <= set(routes)
    for name, (_, _, operation) in routes.items():
        shown = ["example" in one for one in operation.get("requestBody", {}).get("content", {}).values()]
        assert ("body" in examples().get(name, {})) == any(shown), name


def test_the_page_loads_nothing_from_elsewhere_and_nothing_inline(client: Client) -> None:
    page = ask(f"{client.url}/docs")
    text = page.body.decode()
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    loaded = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert [one for one in loaded if "//" in one] == []
    assert [ask(f"{client.url}/{one}").status for one in loaded] == [200] * len(loaded)
    assert not re.search(r"<script>|<style|style=|\son\w+=", text)
    assert ask(f"{client.url}/docs/../app.py").status == ask(f"{client.url}/docs/none.js").status == 404
