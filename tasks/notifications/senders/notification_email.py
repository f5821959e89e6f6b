"""Sends a notification as e-mail: the delivery is an order, which leaves as every order does."""

from dataclasses import replace
from html import escape

from domain.approvals.links import DecisionLink
from domain.mail.outgoing.outgoing_mail import AutomatedKind, machine_headers
from domain.notifications.plan import Reason
from domain.notifications.template import RenderedWords, frame, text_with_footer
from domain.notifications.unsubscribing import UnsubscribeLink
from domain.payloads.email import EmailOrder
from engine.context import JobContext
from storage.notifications.email import orders, senders
from tasks.notifications.senders.due_messages import DueMessage
from tasks.notifications.senders.email_orders import send_order


def send(ctx: JobContext, due: DueMessage) -> str | Reason:
    """Send the e-mail; returns its id at the provider."""
    with ctx.read() as tx:
        sender = senders.find(tx, ctx.org_id)
    if sender is None:
        return Reason.NO_SENDER
    order = _order(ctx, due)
    with ctx.tx() as tx:
        order_id = orders.keep(tx, ctx.org_id, order, delivery_id=due.delivery.delivery_id)
    return str(send_order(ctx, order_id).provider_id)


def _order(ctx: JobContext, due: DueMessage) -> EmailOrder:
    """What is said in the one frame, with a way to stop what may be stopped (RFC 8058, RFC 3834)."""
    category, url = due.message.category, None
    headers = machine_headers(AutomatedKind.GENERATED)
    if category.is_mutable and ctx.settings.public_url:
        link = UnsubscribeLink(due.contact.user_id, category.name)
        url = link.address(ctx.settings.public_url, ctx.sealer.sign)
        headers |= {"List-Unsubscribe": f"<{url}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    words = _with_link(ctx, due)
    return EmailOrder(
        to=(due.contact.address,),
        subject=words.title,
        text=text_with_footer(words, category.name, url),
        html=None if words.html is None else frame(words, category.name, url),
        headers=headers,
        reference=f"notification {due.delivery.delivery_id}",
    )


def _with_link(ctx: JobContext, due: DueMessage) -> RenderedWords:
    """The words with a link that decides, by e-mail alone: who reads an inbox over the API must not get it."""
    approval_id = due.said.approval_id
    if approval_id is None or not ctx.settings.public_url:
        return due.words
    url = DecisionLink(approval_id, due.contact.user_id).address(ctx.settings.public_url, ctx.sealer.sign)
    text = f"{due.words.body.rstrip()}\n\nDecide here, without signing in: {url}\n"
    html = due.words.html and f'{due.words.html}<p><a href="{escape(url)}">Decide here, without signing in</a></p>'
    return replace(due.words, body=text, html=html)
