"""`make pictures`: the console's pages by hand in both themes, at a desk and on a phone; and a film of a mend."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page

from sandbox.demo.endings import forget_settings, stopped_by_signals
from sandbox.demo.processes import ROOT
from sandbox.demo.screen import Screen
from tests.browser.chromium import DESK, PHONE, opened, running_chromium, signed_in
from tests.browser.film import film_a_mend
from tests.browser.seeds import seed
from tests.browser.stand import OPERATORS, Stand, running_stand
from tests.browser.troubles import Troubles, make_troubles
from tests.browser.walking import by_hand

FOLDER, PAGE = ROOT / "docs" / "pictures", ROOT / "docs" / "explanation" / "console-pictures.md"
BUILD = ROOT / "build" / "pictures"
MAILS, MANY = 60, 240
THEMES = ("light", "dark")
SIZES: Mapping[str, Mapping[str, Any]] = {
    "desk": {"viewport": DESK},
    "phone": {"viewport": PHONE, "device_scale_factor": 1.5, "has_touch": True},
}
HIGHEST = {"desk": 1500, "phone": 1700}
"""Pixels of the page that a picture shows at most."""
QUALITY = 66
INTRODUCTION = (
    "`make pictures` takes them of a fleet on emulators; the mailbox is the demo's, and the last days are a"
    " seed. They follow the theme of your browser. [How the pages are made](console.md)."
)
WORDS = {
    "overview": ("Overview", "Whether each queue is in time, what needs a person, and what happened."),
    "queues": ("Queues and workers", "What waits where, for how long, who runs jobs, and what is closed."),
    "close-a-queue": ("Before a queue is closed", "How many jobs would wait after ten minutes."),
    "jobs": ("Jobs", "One line of filters, and what can be done to all that match."),
    "job": ("A job", "Why it is where it is, its attempts as a picture, and what to do."),
    "dead-letters": ("Dead letters", "By what went wrong."),
    "letter": ("A dead letter", "Its error, what a replay would do, and its payload as a shape."),
    "mend": ("Mend a job", "A form of the payload's fields, or a merge patch."),
    "bulk-preview": ("Before a bulk action", "How many match, whom it would skip, and what it would cost."),
    "bulk-action": ("A bulk action", "How far it is, and whom it skipped."),
    "errors": ("Errors", "Kinds of failure, since when and how often."),
    "effects-in-doubt": ("Effects in doubt", "What was asked of a provider, what was seen, and two answers."),
    "approval": ("A question to a person", "What is asked, what led to it, and what happens if nobody answers."),
    "workflow-run": ("A workflow's run", "Its graph, what it waits for, and each node's inputs and outputs."),
    "mailbox": ("A mailbox", "How it is connected and read, and what was done in it today, with the undo of each."),
    "schedules": ("Schedules", "Each in words, with its next runs in its zone and in UTC."),
    "cost": ("Cost", "By org, job type and day."),
    "search": ("Search", "Any id leads to its thing."),
    "health": ("Health", "What is wrong, what to do about it, and when the promises were checked last."),
}
"""By a picture's name: its heading and its caption on the page, in their order."""


def main() -> None:
    """Start a fleet, fill it, and take every picture of it."""
    forget_settings()
    screen = Screen()
    with stopped_by_signals(), running_chromium() as browser, running_stand(BUILD, screen.tell, MAILS) as stand:
        found, others = make_troubles(stand, ["gmail", "contacts"], MANY).values()
        made = seed(stand, found)
        screen.tell("The fleet has a history and troubles")
        FOLDER.mkdir(exist_ok=True)
        session = signed_in(browser, stand, OPERATORS[0])
        take_pictures(browser, session, addresses(stand, found, made | {"code": others.code}))
        with opened(browser, storage_state=session, viewport={"width": 1200, "height": 700}) as context:
            film_a_mend(context.new_page(), stand, found, FOLDER / "mend.webp")
        PAGE.write_text(document())
        size = sum(one.stat().st_size for one in FOLDER.iterdir())
        screen.tell(f"{len(list(FOLDER.iterdir()))} pictures of {size / 1e6:.1f} MB are in {FOLDER.relative_to(ROOT)}")


def addresses(stand: Stand, found: Troubles, made: Mapping[str, str]) -> dict[str, str]:
    """Where each picture is taken, by its name."""
    org = f"of_org={stand.org_id}"
    known = by_hand(stand, found) | {
        "workflow-run": f"/workflows/show?run_id={made['run_id']}&{org}",
        "bulk-preview": f"/bulk/preview?verb=replay&error_code={made['code']}",
        "bulk-action": f"/bulk/show?bulk_id={made['bulk_id']}",
    }
    return {name: f"{stand.console}{known[name]}" for name in WORDS}


def take_pictures(browser: Browser, session: Any, places: Mapping[str, str]) -> None:  # noqa: ANN401  # Playwright's state
    """Take each in both themes and sizes."""
    for size, options in SIZES.items():
        for theme in THEMES:
            with opened(browser, storage_state=session, color_scheme=theme, **options) as context:
                page, folder = context.new_page(), FOLDER / f"{size}-{theme}"
                folder.mkdir(parents=True, exist_ok=True)
                for name, address in places.items():
                    page.goto(address)
                    save(shot(page, HIGHEST[size]), folder / f"{name}.webp")


def shot(page: Page, highest: int) -> Image.Image:
    """The page as far as that many pixels below its head."""
    size = page.viewport_size or DESK
    height = min(highest, int(page.evaluate("document.documentElement.scrollHeight")))
    clip = {"x": 0, "y": 0, "width": size["width"], "height": max(height, 320)}
    return Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))  # type: ignore[arg-type]  # a dict of its names


def save(picture: Image.Image, path: Path) -> None:
    """Write it small."""
    picture.convert("RGB").save(path, "WEBP", quality=QUALITY, method=6)


def document() -> str:
    """The page that shows them, each in the reader's theme."""
    parts = [
        "# Pictures of the console",
        INTRODUCTION,
        f"{_picture('mend', 'A dead letter is mended, its difference and effects are read, and the job succeeds', '')}",
    ]
    for name, (title, words) in WORDS.items():
        shown = [_picture(name, f"{title}: {size}", size) for size in SIZES]
        parts.append(f"## {title}\n\n{words}\n\n<p>\n" + "\n".join(shown) + "\n</p>")
    return "\n\n".join(parts) + "\n"


def _picture(name: str, words: str, size: str) -> str:
    folder = "../pictures"
    if not size:
        return f"![{words}]({folder}/{name}.webp)"
    width = {"desk": 620, "phone": 200}[size]
    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{folder}/{size}-dark/{name}.webp">'
        f'<img src="{folder}/{size}-light/{name}.webp" width="{width}" align="top" alt="{words}"></picture>'
    )


if __name__ == "__main__":
    main()
