"""No client of a provider sends a request that its meter forbids: each client of each port, method by method."""

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

import pytest
from pydantic import SecretStr

from domain.approvals.question import Question
from domain.jobs.failures import CredentialsLost, Permanent, Scope, Throttled
from domain.mail.mailbox import AttachmentPart
from providers import ports
from providers.anthropic.language_model import AnthropicModel
from providers.discord.bot import DiscordBot
from providers.discord.webhook import DiscordWebhook
from providers.fcm.sender import FcmSender
from providers.fcm.tokens import TokenStore
from providers.google.gmail import GmailMailbox
from providers.microsoft.sender import GraphSender
from providers.ports import (
    AlertChannel,
    Mailbox,
    Meter,
    Notice,
    approvals,
    email,
    language_model,
    push,
    sms,
)
from providers.ports.approvals import ApprovalChannel, Outcome
from providers.ports.email import DraftingSender, DraftRef, KeyedSender
from providers.ports.language_model import ConversationRequest, LanguageModel, ModelRequest
from providers.ports.push import OutgoingPush, PushSender
from providers.ports.sms import OutgoingSms, SmsSender
from providers.resend.sender import ResendSender
from providers.twilio.sender import TwilioSender
from providers.webhooks.signed import SignedWebhook
from sandbox.fcm.service import service_account
from tests.house.reading import Module, dotted, read_house
from tests.providers.emails import make_email
from tests.providers.wire import Wire, reply

Maker = Callable[[str, Meter], Any]

CLIENTS: dict[type, tuple[Maker, ...]] = {
    Mailbox: (lambda url, meter: GmailMailbox(account="a", access_token="t", timeout_s=5, endpoint=url, meter=meter),),
    LanguageModel: (lambda url, meter: AnthropicModel(api_key="k", timeout_s=5, base_url=url, meter=meter),),
    AlertChannel: (
        lambda url, meter: DiscordWebhook(url, timeout_s=5, meter=meter),
        lambda url, meter: SignedWebhook(url, "secret", timeout_s=5, meter=meter),
    ),
    KeyedSender: (lambda url, meter: ResendSender(SecretStr("k"), account="a", api_url=url, timeout_s=5, meter=meter),),
    DraftingSender: (
        lambda url, meter: GraphSender(
            SecretStr('{"tenant_id": "tenant-1", "client_id": "client-1", "client_secret": "secret"}'),
            mailbox="desk@example.com",
            graph_url=url,
            login_url=url,
            timeout_s=5,
            meter=meter,
        ),
    ),
    SmsSender: (
        lambda url, meter: TwilioSender(
            SecretStr('{"account_sid": "AC1", "auth_token": "t"}'),
            from_name="+1",
            api_url=url,
            timeout_s=5,
            meter=meter,
        ),
    ),
    PushSender: (
        lambda url, meter: FcmSender(
            SecretStr(service_account()),
            project="p",
            api_url=url,
            token_url=url,
            tokens=TokenStore(),
            timeout_s=5,
            meter=meter,
        ),
    ),
    ApprovalChannel: (lambda url, meter: DiscordBot(SecretStr("token"), api_url=url, timeout_s=5, meter=meter),),
}
"""Every port, and how each client behind it is made."""

SENDS_NOTHING = {
    (LanguageModel, "most_microcents"): "arithmetic on the request",
    (KeyedSender, "request"): "the bytes that are stored before the call",
}

QUESTION = Question(UUID(int=7), 0, "A title", (), datetime(2026, 1, 2, tzinfo=UTC))

ARGUMENTS: dict[str, Any] = {
    "start": 1,
    "query": "is:unread",
    "raw": b"From: a",
    "thread_id": "t1",
    "request": ModelRequest("claude-haiku-5-5", "system", "mail", "tool", "what it does", {"type": "object"}),
    "question": QUESTION,
    "outcome": Outcome(QUESTION, "Approved"),
    "part": AttachmentPart("1", "plan.pdf", "application/pdf", 3, "a1"),
    "since": datetime(2026, 1, 1, tzinfo=UTC),
    "now": datetime(2026, 1, 1, tzinfo=UTC),
    "email": make_email(),
    "draft": DraftRef("AAMk=", "<a@example.com>", "email-1"),
    "notice": Notice(UUID(int=7), "consent", "A title", "A text", {}),
}
"""Values for parameters that a plain word does not fit."""
KEYED = {"request": b"{}"}
SMS = OutgoingSms("+4930123456", "words")
PUSH = OutgoingPush("device", "title", "body", None, "tag", timedelta(hours=1))
CONVERSATION = ConversationRequest("claude-haiku-5-5", "system", (), "a thread")


def port_methods() -> Iterator[tuple[type, str]]:
    for port in CLIENTS:
        for name in vars(port):
            if inspect.isfunction(vars(port)[name]) and not name.startswith("_") and (port, name) not in SENDS_NOTHING:
                yield port, name


def call(client: object, name: str) -> None:
    method = getattr(client, name)
    required = [
        parameter
        for parameter in inspect.signature(method).parameters.values()
        if parameter.default is inspect.Parameter.empty
    ]
    values = ARGUMENTS | ({"request": CONVERSATION} if name == "converse" else {})
    values |= KEYED if name in vars(KeyedSender) and isinstance(client, ResendSender) else {}
    values |= {"message": PUSH if isinstance(client, FcmSender) else SMS} if "message" not in values else {}
    method(**{parameter.name: values.get(parameter.name, "word") for parameter in required})


def forbid(method: str, _units: int) -> None:
    raise Throttled(method, retry_after=timedelta(seconds=1), scope=Scope.PROVIDER, provider="test")


def test_every_port_has_its_clients_here() -> None:
    classes = (
        one
        for module in (ports, language_model, approvals, email, push, sms)
        for _, one in inspect.getmembers(module, inspect.isclass)
    )
    found = {one for one in classes if Protocol in one.__bases__}
    assert found == set(CLIENTS), "a new port needs its clients here, so that none of them calls unmetered"


@pytest.mark.parametrize(("port", "name"), sorted(port_methods(), key=str))
def test_a_forbidden_call_is_not_sent(port: type, name: str) -> None:
    for make in CLIENTS[port]:
        with Wire(reply(200, {})) as wire, make(wire.url, forbid) as client:
            with pytest.raises(Throttled):
                call(client, name)
            assert wire.seen == []


@pytest.mark.parametrize(("port", "name"), sorted(port_methods(), key=str))
def test_a_call_is_counted_once_for_each_request(port: type, name: str) -> None:
    for make in CLIENTS[port]:
        heard: list[int] = []

        def count(_method: str, units: int, heard: list[int] = heard) -> None:
            heard.append(units)

        with Wire(reply(404, {})) as wire, make(wire.url, count) as client:
            with pytest.raises((Permanent, CredentialsLost)):
                call(client, name)
            assert len(heard) == len(wire.seen) == 1
            assert heard[0] > 0


@pytest.mark.parametrize(
    "made",
    [GmailMailbox, AnthropicModel, DiscordWebhook, SignedWebhook, ResendSender, GraphSender, TwilioSender, FcmSender],
)
def test_a_client_cannot_be_made_without_a_meter(made: type) -> None:
    parameter = inspect.signature(made).parameters["meter"]
    assert parameter.default is inspect.Parameter.empty


def askers(house: Iterable[Module]) -> set[tuple[str, str]]:
    """Module and receiver of each call to a method `ask` or `converse`."""
    return {
        (module.name, dotted(node.func.value))
        for module in house
        if module.room in {"engine", "tasks", "commands", "gateway"}
        for node in module.nodes()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"ask", "converse"}
    }


def test_only_the_budget_asks_the_model() -> None:
    """A call costs money: only `engine/model_budget.py`, which sets it aside first, makes one."""
    assert askers(read_house()) == {
        ("engine.model_budget", "model"),
        ("tasks.mail.steps.language_model", "ctx.budget"),
    }


def test_a_call_past_the_budget_is_found() -> None:
    assert askers([Module("tasks.mail.drafts", "shared_model(ctx).ask(request)")]) == {("tasks.mail.drafts", "")}
