"""Notifications: ask for one, see what became of it, and say by whom text messages and pushes leave."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.notifications.channels import Channel
from domain.notifications.delivery import DeliveryState
from domain.notifications.template import Template, words_of
from domain.orgs.access.api_keys import Role
from operations.call import Call
from operations.operation import Area, Record, Route
from operations.pages import Page, Window
from storage.notifications import channel_senders, notifications, templates
from storage.notifications.notifications import Delivery, NotificationRequest
from storage.orgs.secrets import org_secrets
from storage.orgs.secrets.sealing import SecretPlace
from storage.postgres.database import Transaction

NOTIFICATIONS = Area("notifications", "Tell people something by a template, and see what became of it.", org="required")


class DeliveryView(Record):
    """What became of a notification on a channel."""

    delivery_id: UUID
    channel: Channel
    contact_id: UUID | None
    digest_id: UUID | None = Field(description="The digest that the notification is in.")
    state: DeliveryState
    reason: str | None = Field(description="Why it was not sent, or failed.")
    due_at: datetime | None = Field(description="When it is sent: after quiet hours, or with its digest.")
    changed_at: datetime


class NotificationView(Record):
    """What a person was told. The data are not shown: they may hold a code."""

    plural: ClassVar = "notifications"
    columns: ClassVar = ("notification_id", "user_id", "template", "version", "bucket", "asked_at", "planned_at")
    notification_id: UUID
    org_id: UUID
    user_id: UUID
    template: str
    version: int | None = Field(description="Of the template; null until it is decided what becomes of it.")
    bucket: str
    asked_at: datetime
    planned_at: datetime | None


class ToldView(NotificationView):
    """A notification with what became of it."""

    is_new: bool = Field(default=True, description="False where the same was asked for within the last seven days.")
    deliveries: list[DeliveryView] = Field(default_factory=list)


class ChannelView(Record):
    """By whom the messages of a channel leave."""

    plural: ClassVar = "channels"
    org_id: UUID
    channel: Channel
    provider: str
    from_name: str
    secret_name: str = Field(validation_alias="secret")
    set_at: datetime
    set_by: str


@NOTIFICATIONS.deed(
    "send", Route("POST", "/notifications", status=201), role=Role.WRITER, events=("job.enqueued",), ledger_audits=True
)
def send_notification(
    call: Call,
    *,
    recipient_id: Annotated[UUID, Field(description="Who gets it: a person of the org.")],
    template: Annotated[str, Field(max_length=100, description="The name of the template.")],
    data: Annotated[dict[str, Any] | None, Field(description="What the template says it of; 16 KB at most.")] = None,
    bucket: Annotated[
        str, Field(max_length=200, description="Tells apart what is said twice on purpose, such as the day.")
    ] = "",
    channels: Annotated[
        list[Channel] | None, Field(min_length=1, max_length=4, description="Only these; all that have words if none.")
    ] = None,
) -> ToldView:
    """Tell a person something. The same recipient, template, data and bucket within seven days are one notification."""
    request = NotificationRequest(recipient_id, template, data or {}, bucket, tuple(channels) if channels else None)
    with call.reading() as tx:
        stored = templates.find(tx, call.org, template)
    if stored is None:
        raise Invalid("template", "the org has no template of this name")
    for channel in request.channels or stored.template.channels:
        if channel in stored.template.channels:
            _check_words(stored.template, channel, request.data)
    with call.writing() as tx:
        asked = notifications.notify(tx, call.org, request, by=call.origin)
        if asked.notification_id is None:
            field, _, reason = (asked.refusal or "").partition(": ")
            raise Invalid(field, reason)
        return _told(tx, call.org, asked.notification_id, is_new=asked.created)


def _check_words(template: Template, channel: Channel, data: JsonObject) -> None:
    try:
        words_of(template, channel, data)
    except Invalid as invalid:
        raise Invalid("data", invalid.reason) from None


@NOTIFICATIONS.look("list", Route("GET", "/notifications"))
def list_notifications(
    call: Call, window: Window, *, user_id: Annotated[UUID | None, Field(description="Only this person's.")] = None
) -> Page[NotificationView]:
    """List what people were told, the newest first."""
    with call.reading() as tx:
        if user_id is None:
            return window.records(tx, "list_notifications", NotificationView, org_id=call.org)
        of_user = {"org_id": call.org, "user_id": user_id}
        return window.records(tx, "list_notifications_of_user", NotificationView, **of_user)


@NOTIFICATIONS.look("show", Route("GET", "/notifications/{notification_id}"))
def show_notification(call: Call, notification_id: UUID) -> ToldView:
    """Show what became of a notification on each channel, and why."""
    with call.reading() as tx:
        call.found(notifications.find(tx, call.org, notification_id), f"notification {notification_id}")
        return _told(tx, call.org, notification_id)


@NOTIFICATIONS.look("channels", Route("GET", "/notification-channels"))
def list_channels(call: Call) -> Page[ChannelView]:
    """List by whom the org's text messages and pushes leave; e-mail has a sender of its own."""
    with call.reading() as tx:
        return Page([ChannelView.model_validate(one) for one in channel_senders.listed(tx, call.org)], None)


@NOTIFICATIONS.deed("set-channel", Route("PUT", "/notification-channels/{channel}"), events=("channel.set",))
def set_channel(
    call: Call,
    channel: Channel,
    *,
    from_name: Annotated[
        str,
        Field(
            max_length=100,
            pattern=r"^[A-Za-z0-9+:._-]+$",
            description="A number or messaging service of Twilio's, or the Firebase project.",
        ),
    ],
    secret_name: Annotated[
        str,
        Field(max_length=63, description="Which secret of the org holds the credentials."),
    ],
) -> ChannelView:
    """Let the org send by a channel from now on; what waited for credentials goes on."""
    if channel not in channel_senders.PROVIDERS:
        raise Invalid("channel", "must be sms or push: e-mail has senders, and the inbox needs none")
    with call.writing() as tx:
        if not org_secrets.is_kept(tx, SecretPlace(call.org, secret_name)):
            raise Invalid(
                "secret_name", f"the org has no secret {secret_name}: keep it first, by `celery -A tasks secrets set`"
            )
        chosen = channel_senders.choose(tx, call.org, channel, from_name=from_name, secret=secret_name, by=call.name)
        call.audit(tx, call.org, {"channel": channel.value, "secret_name": secret_name})
    return ChannelView.model_validate(chosen)


@NOTIFICATIONS.deed("remove-channel", Route("DELETE", "/notification-channels/{channel}"), events=("channel.removed",))
def remove_channel(call: Call, channel: Channel) -> ChannelView:
    """Let the org send by a channel no more."""
    with call.writing() as tx:
        removed = channel_senders.remove(tx, call.org, channel)
        call.audit(tx, call.org, {"channel": channel.value})
    return ChannelView.model_validate(removed)


def _told(tx: Transaction, org_id: UUID, notification_id: UUID, *, is_new: bool = True) -> ToldView:
    found = notifications.find(tx, org_id, notification_id)
    became: Sequence[Delivery] = notifications.deliveries(tx, org_id, notification_id)
    view = NotificationView.model_validate(found)
    return ToldView(**view.model_dump(), is_new=is_new, deliveries=[DeliveryView.model_validate(one) for one in became])
