"""Templates of notifications: saved in versions, listed, shown, and previewed on every channel."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, NamedTuple
from uuid import UUID

from pydantic import Field

from domain.documents.faults import read_source
from domain.notifications.built_in import check_replacement
from domain.notifications.channels import Channel
from domain.notifications.template import frame, preview, read_template
from domain.orgs.access.api_keys import Role
from domain.orgs.access.users import check_zone
from operations.call import Call
from operations.operation import Area, File, Record, Route
from operations.pages import Page, Window
from storage.notifications import templates
from storage.notifications.templates import StoredTemplate

TEMPLATES = Area(
    "templates", "Save, list and preview the texts by which people are told things.", org="required", writes=Role.WRITER
)
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.-]*$", max_length=100)]
Version = Annotated[int | None, Field(ge=0, description="Which version; the newest if none is named.")]


class TemplateLine(Record):
    """The newest version of a template."""

    plural: ClassVar = "templates"
    name: str
    version: int
    category: str
    channels: list[Channel]
    created_at: datetime | None
    created_by: str


class TemplateView(TemplateLine):
    """A version of a template."""

    org_id: UUID
    document: dict[str, Any] = Field(description="As it was saved.")


class ChannelWords(Record):
    """What a channel says of the sample."""

    title: str
    body: str
    html: str | None = None
    link: str | None = None


class PreviewView(Record):
    """What a template says of its sample on every channel."""

    name: str
    version: int
    words: dict[Channel, ChannelWords]
    sms_encoding: str | None = Field(description="GSM-7, or UCS-2 where a letter is outside the GSM alphabet.")
    sms_units: int | None
    sms_segments: int | None = Field(description="Each is paid for.")


class TemplatePosition(NamedTuple):
    """Where a list is: the last template that was shown."""

    name: str


@TEMPLATES.deed("save", Route("PUT", "/notification-templates/{name}", document="Template"), events=("template.saved",))
def save_template(call: Call, name: Name, document: object) -> TemplateView:
    """Save a template as its newest version; refused with the field when its sample cannot be said on every channel.

    The command reads YAML from a file, or from standard input for `-`.
    """
    template = read_template(_read(document))
    check_replacement(name, template)
    with call.writing() as tx:
        saved = templates.save(tx, call.org, name, template, by=call.name)
        call.audit(tx, call.org, {"name": name, "version": saved.version})
    return _view(saved)


@TEMPLATES.look("list", Route("GET", "/notification-templates"))
def list_templates(call: Call, window: Window) -> Page[TemplateLine]:
    """List the newest version of each template, by name."""
    after = window.after(TemplatePosition)
    with call.reading() as tx:
        found = templates.listed(tx, call.org, after=after.name if after else None, limit=window.rows)
    return window.page(found, _line, lambda one: TemplatePosition(one.name))


@TEMPLATES.look("show", Route("GET", "/notification-templates/{name}"))
def show_template(call: Call, name: Name, *, version: Version = None) -> TemplateView:
    """Show a template as it was saved, so that it can be changed and saved again."""
    with call.reading() as tx:
        return _view(templates.get(tx, call.org, name, version))


@TEMPLATES.look("preview", Route("GET", "/notification-templates/{name}/preview"))
def preview_template(
    call: Call,
    name: Name,
    *,
    version: Version = None,
    zone: Annotated[str, Field(max_length=100, description="The reader's time zone.")] = "UTC",
) -> PreviewView:
    """Show what a template says of its sample on every channel, and what its text message costs."""
    check_zone(zone)
    with call.reading() as tx:
        stored = templates.get(tx, call.org, name, version)
    shown = preview(stored.template, stored.template.sample, zone=zone)
    words = {channel: ChannelWords.model_validate(one) for channel, one in shown.words.items()}
    mail = shown.words.get(Channel.EMAIL)
    if mail is not None and mail.html is not None:
        words[Channel.EMAIL].html = frame(mail, stored.template.category, None)
    return PreviewView(
        name=name,
        version=stored.version,
        words=words,
        sms_encoding=shown.sms and shown.sms.encoding,
        sms_units=shown.sms and shown.sms.units,
        sms_segments=shown.sms and shown.sms.segments,
    )


def _read(document: object) -> object:
    return read_source(document.data, document.name).value if isinstance(document, File) else document


def _line(stored: StoredTemplate) -> TemplateLine:
    return TemplateLine(
        name=stored.name,
        version=stored.version,
        category=stored.template.category,
        channels=list(stored.template.channels),
        created_at=stored.created_at,
        created_by=stored.created_by,
    )


def _view(stored: StoredTemplate) -> TemplateView:
    return TemplateView(**_line(stored).model_dump(), org_id=stored.org_id, document=stored.document)
