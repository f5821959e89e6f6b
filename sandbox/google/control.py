"""The Gmail emulator's control calls, below `/_control/`: accounts, mail, a person's actions, lags, tokens."""

from dataclasses import asdict, fields, replace

from sandbox.emulator.exchange import Answer, ApiFailure, Call, Handler, Json, Route
from sandbox.google.api.consent_screen import OAuthClient
from sandbox.google.api.oauth import LIFETIME_S
from sandbox.google.api.resources import decode
from sandbox.google.api.routes import MailboxHandler
from sandbox.google.api.service import GmailService
from sandbox.google.mailbox.drafts import delete_draft
from sandbox.google.mailbox.mailbox import Knobs, Lag, Mailbox, MailMessage
from sandbox.google.mailbox.person import (
    chosen,
    delete_for_good,
    edit_draft,
    relabel,
    send_as_person,
    state_of,
)
from sandbox.google.push_control import push_routes

ACCOUNT = "/_control/accounts/{email}"


def control_routes(service: GmailService) -> tuple[Route, ...]:
    """Every control call of the Gmail emulator."""
    control = _AccountControl(service)
    per_account: tuple[tuple[str, str, MailboxHandler], ...] = (
        ("GET", "", _show),
        ("POST", "/messages", _deliver),
        ("GET", "/messages/{id}/raw", _show_raw),
        ("POST", "/drafts/{id}/edit", _edit),
        ("POST", "/drafts/{id}/send", _send),
        ("DELETE", "/drafts/{id}", _discard),
        ("POST", "/labels", _relabel),
        ("POST", "/delete", _delete),
        ("POST", "/knobs", _turn_knobs),
        ("POST", "/history", _order_history),
        ("POST", "/tokens", control.order_tokens),
        ("POST", "/watch/lapse", control.lapse_watch),
    )
    general = (
        Route("GET", "/_control/accounts", "control.accounts", control.list),
        Route("POST", "/_control/accounts", "control.accounts", control.create),
        Route("POST", "/_control/clock", "control.clock", control.advance_clock),
        Route("POST", "/_control/oauth_client", "control.oauth_client", control.register_client),
    )
    accounts = (
        Route(method, ACCOUNT + path, "control.account", _on_mailbox(service, handler))
        for method, path, handler in per_account
    )
    return (*general, *accounts, *push_routes(service))


def _on_mailbox(service: GmailService, handler: MailboxHandler) -> Handler:
    def handle(call: Call) -> Answer:
        mailbox = service.mailbox(call.parameters["email"])
        with mailbox.lock:
            return handler(mailbox, call)

    return handle


class _AccountControl:
    """The control calls that concern more than one mailbox."""

    def __init__(self, service: GmailService) -> None:
        self._service = service

    def list(self, _call: Call) -> Answer:
        return Answer(body={"accounts": sorted(self._service.mailboxes)})

    def create(self, call: Call) -> Answer:
        wish = call.json()
        service, email = self._service, wish["email"]
        mailbox = service.open_account(email, seed=wish.get("seed", 0), first_history_id=wish.get("history_id"))
        mailbox.aliases = {address.lower(): status for address, status in wish.get("aliases", {}).items()}
        mailbox.send_as = {address.lower(): facts for address, facts in wish.get("send_as", {}).items()}
        lifetime = wish.get("expires_in_s", LIFETIME_S)
        service.tokens.grant(email, wish["access_token"], wish["refresh_token"], lifetime)
        return Answer(body={"email": email, "history_id": mailbox.history.current})

    def advance_clock(self, call: Call) -> Answer:
        return Answer(body={"now": self._service.clock.advance(float(call.json().get("advance_s", 0)))})

    def lapse_watch(self, mailbox: Mailbox, _call: Call) -> Answer:
        """The mailbox's history id at this moment: no push tells of a later one."""
        self._service.watches.lapse(mailbox)
        return Answer(body={"history_id": mailbox.history.current})

    def register_client(self, call: Call) -> Answer:
        """The application that may ask for consent; `subjects` are users' ids by address, where they matter."""
        wish = call.json()
        redirect_uris = tuple(wish["redirect_uris"])
        self._service.consent.client = OAuthClient(wish["client_id"], wish["client_secret"], redirect_uris)
        self._service.consent.subjects |= wish.get("subjects", {})
        return Answer(body={"client_id": wish["client_id"], "redirect_uris": list(redirect_uris)})

    def order_tokens(self, mailbox: Mailbox, call: Call) -> Answer:
        """`consent`, then `expires_in_s`, `rotate` and `scope`, then `revoke` or `expire_access`."""
        wish, tokens = call.json(), self._service.tokens
        if consent := wish.get("consent"):
            tokens.grant(mailbox.email, consent["access_token"], consent["refresh_token"])
        grant = tokens.grant_of(mailbox.email)
        grant.expires_in_s = wish.get("expires_in_s", grant.expires_in_s)
        grant.rotate = wish.get("rotate", grant.rotate)
        grant.scope = wish.get("scope", grant.scope)
        if wish.get("revoke"):
            tokens.revoke(mailbox.email)
        if wish.get("expire_access"):
            tokens.expire_access(mailbox.email)
        return Answer(body={name: value for name, value in asdict(grant).items() if name != "refresh_token"})


def _show(mailbox: Mailbox, _call: Call) -> Answer:
    return Answer(body=state_of(mailbox))


def _show_raw(mailbox: Mailbox, call: Call) -> Answer:
    return Answer(body=mailbox.message(call.parameters["id"]).raw, headers={"Content-Type": "message/rfc822"})


def _facts(message: MailMessage, mailbox: Mailbox) -> Answer:
    facts: Json = {"message_id": message.message_id, "thread_id": message.thread_id, "history_id": message.history_id}
    return Answer(body={**facts, "mailbox_history_id": mailbox.history.current})


def _deliver(mailbox: Mailbox, call: Call) -> Answer:
    wish = call.json()
    message = mailbox.deliver(
        decode(wish.get("raw")),
        wish.get("label_ids", ("INBOX", "UNREAD")),
        wish.get("thread_id"),
        wish.get("internal_date"),
        Lag(wish.get("hidden_gets", 0), wish.get("hidden_history", 0), wish.get("hidden_searches", 0)),
    )
    return _facts(message, mailbox)


def _edit(mailbox: Mailbox, call: Call) -> Answer:
    wish = call.json()
    raw = decode(wish["raw"]) if "raw" in wish else None
    draft = edit_draft(mailbox, call.parameters["id"], wish, raw)
    return _facts(mailbox.message(draft.message_id), mailbox)


def _send(mailbox: Mailbox, call: Call) -> Answer:
    return _facts(send_as_person(mailbox, call.parameters["id"]), mailbox)


def _discard(mailbox: Mailbox, call: Call) -> Answer:
    delete_draft(mailbox, call.parameters["id"])
    return Answer(body={})


def _relabel(mailbox: Mailbox, call: Call) -> Answer:
    wish = call.json()
    relabel(mailbox, chosen(mailbox, wish), wish.get("add", []), wish.get("remove", []))
    return _show(mailbox, call)


def _delete(mailbox: Mailbox, call: Call) -> Answer:
    delete_for_good(mailbox, chosen(mailbox, call.json()))
    return Answer(body={})


def _turn_knobs(mailbox: Mailbox, call: Call) -> Answer:
    wish = call.json()
    unknown = set(wish) - {field.name for field in fields(Knobs)}
    if unknown:
        raise ApiFailure(400, "unknownField", f"a mailbox has no knob {sorted(unknown)}")
    mailbox.knobs = replace(mailbox.knobs, **wish)
    return Answer(body=asdict(mailbox.knobs))


def _order_history(mailbox: Mailbox, call: Call) -> Answer:
    """`expire` (true, or the new floor) and `blank_pages`."""
    wish, history = call.json(), mailbox.history
    expire = wish.get("expire", False)
    if expire is not False:
        history.expire(None if expire is True else int(expire))
    history.blank_pages = wish.get("blank_pages", history.blank_pages)
    return Answer(body={"floor": history.floor, "current": history.current, "blank_pages": history.blank_pages})
