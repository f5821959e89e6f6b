"""How much of a message is looked at and kept; a message that has more is cut, with a defect, and never refused.

Two things follow from these numbers, and tests hold them: what is kept fits the table's bounds whatever a sender
writes, and the work for a message is bounded by its size (docs: mail-limits.md).
"""

MOST_HEADERS = 300
"""Header fields of a message or a part: seven times as many as any of the 300 real messages has (44)."""
LONGEST_HEADER = 262_144
"""Bytes of one header field that are looked at: more than the 2,000 recipients that are kept can need."""
LONGEST_HEADER_BLOCK = 524_288
"""Bytes of all header fields of one block together; the largest of the real messages has 4,288."""
MOST_HEADER_LINES = 20_000
"""Lines of a header block that are read one by one; what follows up to the next blank line is passed over."""
LONGEST_VALUE = 4_000
"""Characters of a decoded header value: eight times the longest of the real messages (462)."""
LONGEST_VALUES = 200_000
"""Characters of all decoded header values together; values after them are kept empty."""
LONGEST_SUBJECT = 998
"""Characters: the longest line that a mail may have (RFC 5322, 2.1.1)."""
MOST_REFERENCES = 100
"""Ids in References: the first and the latest stay. The real messages have 10 at most."""
LONGEST_AUTH_RESULTS = 16_384
"""Characters of the receiver's Authentication-Results: a hundred signatures. A longer one proves nothing."""
MOST_AUTH_RESULTS = 250
"""Results and comments in it; they bound the parser's work and its recursion."""
LONGEST_ID = 900
"""Characters of a Message-ID, which has to fit into a line of 998 (RFC 5322, 2.1.1)."""

MOST_ADDRESSES = 1_000
"""Mailboxes of one header. Gmail sends to 500 at most (docs: gmail.md#quotas); others may send to more."""
MOST_RECIPIENTS = 2_000
"""Of To, Cc and Bcc together, in this order."""
MOST_REPLY_TO = 100
"""A reply goes to few; the rest only costs."""
LONGEST_ADDRESS = 320
"""Characters: 64 before the at-sign, 255 after it (RFC 5321, 4.5.3.1)."""
LONGEST_NAME = 200
"""Characters of a display name."""
MOST_ADDRESS_TOKENS = 20_000
"""Pieces of one address header: 20 for each of the mailboxes that are kept."""

MOST_WORDS = 2_000
"""Encoded words that are decoded in one value; what follows them stays as it is written."""
LONGEST_IN_WORDS = 16
"""Characters of encoded words that one character may take: four bytes of three letters each, and the words' frames."""
LONGEST_SAMPLE = 512
"""Bytes by which a charset that nobody names is detected, from the first letter beyond ASCII on."""
LONGEST_CHARSET = 40
"""Characters of a charset's name: the longest label of the WHATWG has 19, of Python's aliases 21."""
MOST_PARAMETERS = 50
"""Parameters of a Content-Type or Content-Disposition."""
LONGEST_FILENAME = 200
"""Characters: file systems take 255 bytes. A longer name is cut in the middle."""

DEEPEST = 20
"""Multiparts in each other that are opened. Mailers make mixed, related and alternative around each other, and forwards
repeat them."""
MOST_PARTS = 500
"""Parts of a message: more than the attachments that are listed."""
MOST_DELIMITERS = 10_000
"""Places in a message that look like a boundary and are compared: each part has one, and senders can write more."""
MOST_SCANS = 4
"""How often the bytes of a message are searched for boundaries, on average; a multipart beyond it stays unopened."""
MOST_TEXT_PARTS = 20
"""Parts that make the text together."""
LONGEST_TEXT = 200_000
"""Characters of the text: about a hundred pages."""
LONGEST_HTML = 2_000_000
"""Characters of the HTML that are read for its text, without its pictures: comments and styles may be most of it."""
LONGEST_STYLES = 500_000
"""Characters of a style sheet. With a longer one nothing is certain: a rule that was not read could show text."""
LONGEST_PART = 8_000_000
"""Bytes of a part that are decoded for its text: room for a photo in a page."""
MOST_ATTACHMENTS = 200
"""Attachments that are listed."""
MOST_TAGS = 20_000
"""Tags of the HTML that are read."""
DEEPEST_ELEMENT = 512
"""Elements in each other: a parser looks through all that are open for each tag (HTML standard, tree construction).
20,000 of them took a second, in which no other thread ran. Of those that could lie deeper the words are kept alone.
Chromium's tree has as many levels."""
MOST_ATTRIBUTES = 200
"""Of one tag: the parser compares each with those before. The page is cut in front of a tag with more."""
DEEPEST_QUOTE = 10
"""Block quotes that are shown in front of a line."""
META_WITHIN = 1_024
"""Bytes of an HTML part in which `<meta charset>` counts, as the HTML standard has it."""

MOST_EVIDENCE = 50
"""Signs of automation that are kept with a message, the deciding kind's first."""
MOST_LABELS = 1_000
"""Labels that are kept with a message, Gmail's own first."""
