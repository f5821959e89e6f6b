"""A film of a mend: the letter, its mend, the difference and what a replay would do, the replay, and its success."""

import io
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.hands import Keys
from tests.browser.stand import Stand
from tests.browser.troubles import Troubles

QUALITY = 70
BUTTON = "main form.deed button.main"


@dataclass
class Film:
    """Frames of a page, each with how long it is shown, in milliseconds."""

    page: Page
    frames: list[tuple[Image.Image, int]] = field(default_factory=list)

    def show(self, milliseconds: int) -> None:
        """Keep what the page looks like now."""
        self.frames.append((Image.open(io.BytesIO(self.page.screenshot())).convert("RGB"), milliseconds))

    def save(self, path: Path) -> None:
        """Write the film; it begins anew at its end."""
        first, *others = (frame for frame, _ in self.frames)
        lengths = [length for _, length in self.frames]
        # Each frame is whole: what changes alone would leave shades of the frame before it.
        first.save(
            path, "WEBP", save_all=True, append_images=others, duration=lengths, loop=0, quality=QUALITY, method=6,
            kmin=0, kmax=1,
        )  # fmt: skip


def film_a_mend(page: Page, stand: Stand, found: Troubles, path: Path) -> None:
    """Mend the letter by keyboard, so that the focus shows what is pressed, and film it."""
    film, hand = Film(page), Keys(page)
    page.goto(f"{stand.console}/deadletters/show?letter_id={found.letter_id}")
    film.show(2600)
    page.locator("main h2").nth(1).scroll_into_view_if_needed()
    film.show(1800)
    page.locator(f'main a[href*="/jobs/mend?job_id={found.job_id}"]').first.focus()
    film.show(1000)
    page.keyboard.press("Enter")
    thread = page.locator('[name="field.thread_id"]')
    thread.wait_for()
    page.locator('main a[href*="show_values"]').first.click()
    page.wait_for_url("**show_values**")
    thread.scroll_into_view_if_needed()
    film.show(1600)
    hand.write(thread, "")
    for part in (found.other_thread[:5], found.other_thread[5:11], found.other_thread[11:]):
        page.keyboard.type(part)
        film.show(350)
    film.show(900)
    page.locator(BUTTON).focus()
    film.show(900)
    page.keyboard.press("Enter")
    expect(page.locator("main .diff ins")).to_have_count(1)
    film.show(3200)
    stand.let_go()
    stand.hold_up(found.other_thread)
    page.locator(BUTTON).focus()
    film.show(1200)
    page.keyboard.press("Enter")
    expect(page.locator("#live[data-watch]")).to_have_count(1)
    film.show(2000)
    stand.let_go()
    expect(page.locator("h1 .badge.good")).to_have_count(1)
    film.show(3500)
    film.save(path)
