"""One-click unsubscribe: scanners change nothing, one category stops, and a link that nobody signed leads nowhere."""

from collections.abc import Iterator

import pytest

from domain.notifications.channels import Channel
from domain.notifications.sender import EmailProvider
from domain.notifications.unsubscribing import UnsubscribeLink
from tests.doubles.email_orders import set_sender
from tests.doubles.told_people import PUBLIC_URL, ToldPeople, states
from tests.gateway.serving import HttpAnswer, ask, serve

PRESSED = b"List-Unsubscribe=One-Click"


@pytest.fixture
def door(told: ToldPeople) -> Iterator[str]:
    set_sender(told.process, told.org_id, EmailProvider.RESEND)
    with serve(told.process.settings) as url:
        yield url


def link_in_mail(told: ToldPeople, door: str) -> str:
    """The link of an e-mail, at the test's gateway."""
    told.tell(channels=(Channel.EMAIL,))
    (email,) = told.resend.emails()
    headers = {name.lower(): value for name, value in email["mail"]["headers"].items()}
    return door + str(headers["list-unsubscribe"]).strip("<>").removeprefix(PUBLIC_URL)


def press(url: str, body: bytes = PRESSED, kind: str = "application/x-www-form-urlencoded") -> HttpAnswer:
    return ask(url, body, {"Content-Type": kind})


def is_off(told: ToldPeople) -> bool:
    return told.database.execute("select category, channel, choice from preferences").fetchall() == [
        ("bookings", "email", "off")
    ]


def test_a_scanner_changes_nothing_and_the_persons_press_still_works(told: ToldPeople, door: str) -> None:
    """emailflare#190, useSend#412, Rock#7034: a scanner follows the link before its person does."""
    url = link_in_mail(told, door)
    for _ in range(3):
        answer = ask(url)
        assert (answer.status, b"<button>Stop e-mail about bookings</button>" in answer.body) == (200, True)
        assert ask(url, method="HEAD").status in {200, 405}
        assert press(url, b"").status == 200
    assert not is_off(told)
    assert press(url).status == 200
    assert is_off(told)
    assert states(told.tell(bucket="again", channels=(Channel.EMAIL,))) == {"email": "suppressed"}


def test_a_link_is_good_after_its_address_was_removed_and_added_again(told: ToldPeople, door: str) -> None:
    url = link_in_mail(told, door)
    told.database.execute("delete from contact_points where channel = 'email'")
    assert press(url).status == 200
    assert is_off(told)
    told.add_contact(Channel.EMAIL, "ada@example.org")
    assert states(told.tell(bucket="again", channels=(Channel.EMAIL,))) == {"email": "suppressed"}


def test_the_link_of_a_person_who_is_being_erased_leads_nowhere(told: ToldPeople, door: str) -> None:
    url = link_in_mail(told, door)
    told.database.execute("update users set erasing_since = now()")
    for answer in (ask(url), press(url)):
        assert (answer.status, b"This link leads nowhere" in answer.body) == (200, True)
    assert told.database.execute("select count(*) from preferences").fetchone() == (0,)


def test_mail_programs_may_press_by_multipart(told: ToldPeople, door: str) -> None:
    url = link_in_mail(told, door)
    body = b'--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n'
    answer = press(url, body, "multipart/form-data; boundary=x")
    assert (answer.status, is_off(told)) == (200, True), "and it is no redirect (RFC 8058, section 3.2)"


def test_an_unsubscribe_touches_its_category_alone(told: ToldPeople, door: str) -> None:
    """emailflare#190: never password resets."""
    press(link_in_mail(told, door))
    told.save("reset", category="security")
    told.save("news", category="news")
    for name in ("reset", "news"):
        assert states(told.tell(name=name, channels=(Channel.EMAIL,))) == {"email": "handed_over"}
    row = told.database.execute(
        "select actor_type, data ->> 'category' from audit_entries where event = 'preference.set'"
    ).fetchall()
    assert row == [("user", "bookings")]


@pytest.mark.parametrize("odd", ["cut", "changed", "immutable", "unknown", "nonsense"])
def test_a_link_that_nobody_signed_is_answered_200_without_effect(told: ToldPeople, door: str, odd: str) -> None:
    url = link_in_mail(told, door)
    sign = told.process.sealer.sign
    tokens = {
        "cut": url[:-1],
        "changed": url[:-1] + ("0" if url[-1] != "0" else "1"),
        "immutable": UnsubscribeLink(told.user_id, "security").address(door, sign),
        "unknown": UnsubscribeLink(told.org_id, "bookings").address(door, sign),
        "nonsense": f"{door}/u/%00",
    }
    for answer in (ask(tokens[odd]), press(tokens[odd])):
        assert answer.status == 200
    assert told.database.execute("select count(*) from preferences").fetchone() == (0,)
