"""What a person says who reads the odd messages; written by hand from their bytes."""

from tests.domain.mail.corpus.expected_mail import Read

OWNER = "owner@box.example"
ANN = ("Ann Lee", "ann@sender.example")


def whole(
    text: str, sender: tuple[str, str] | None, *to: str, subject: str, kind: str = "human", **more: object
) -> Read:
    """A short message, of which every word stands here."""
    return Read(text, text, sender, to, subject=subject, kind=kind, **more)  # type: ignore[arg-type]  # the rest by name


PEOPLE = ("Ann Lee", "ann@people.example")
TUESDAY = "Can you tell me whether Tuesday suits you?"
BARE = ("", "a@b.example")

ODD = {
    "auto-submitted-comment": whole("Away.", BARE, subject="s", kind="auto_reply"),
    "bel-in-word": whole(TUESDAY, PEOPLE, "owner@postroom.example", subject="Question about Tuesday"),
    "blanks-around-at": whole("body", ("", "ann@a.example"), subject="s"),
    "charset-2231": whole("Grüße", ANN, OWNER, subject="x"),
    "filename-unquoted-blanks": whole("Hi", ANN, OWNER, subject="Hello", files=("Partner Agreement Week 11.pdf",)),
    "html-and-list-footer": Read(
        "Can you come on Tuesday at five instead? Please answer today.",
        "club mailing list\nclub@lists.example",
        ANN,
        (OWNER,),
        subject="[club] Meeting moved",
        kind="human",
    ),
    "iso2022jp-is-utf8": whole("見積書", ANN, OWNER, subject="x"),
    "iso2022jp-no-charset": whole("お世話になっております。見積書を送ってください。", ANN, OWNER, subject="jp"),
    "long-filename": Read(
        "Hi", "Hi", ANN, (OWNER,), subject="Hello", files=(f"{'a' * 99}…{'a' * 96}.exe",), kind="human"
    ),
    "long-subject": whole(
        TUESDAY, PEOPLE, "owner@postroom.example", subject=f"Question about the contract{' the contract' * 23} end?"
    ),
    "message-id-bare": whole("x", BARE, subject=""),
    "message-id-words": whole("x", BARE, subject=""),
    "named-body": whole("Please confirm.", ANN, OWNER, subject="Hello", files=("a.pdf",)),
    "placeholder-plain": whole("Please confirm the appointment on Friday.", ANN, OWNER, subject="Hello"),
    "question-mark-in-word": whole("x", BARE, subject="Kommst du mit? Ja?"),
    "raw-jis-subject": whole(TUESDAY, PEOPLE, "owner@postroom.example", subject="打合せの件"),
    "stray-quote": whole("body", None, "one@a.example", "tim@a.example", "jane@a.example", subject="s"),
    "version-that-no-program-shows": whole(
        "Thanks, all is fine here.", ("Anna Example", "anna@people.example"), OWNER, subject="Hello", files=("",)
    ),
    "wrapped-body": Read(
        "This message is to remind you that the payment is overdue since\nMonday.",
        "Please pay the\xa0open invoice.",
        ANN,
        (OWNER,),
        subject="Bill",
        kind="human",
    ),
}
