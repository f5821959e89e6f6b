"""Which addresses mail can be sent to: as many as the reader of mail takes, and the same for each way to write one."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.mail.outgoing.header_lines import mailbox_text
from domain.mail.parsing.addresses import parse_addresses
from domain.payloads.mail_address import address_key, check_address, writable_address
from domain.payloads.mail_fields import mailbox_parts

WRITTEN = {
    "ada@example.org": "ada@example.org",
    " Ada.L+tag@Example.ORG ": "Ada.L+tag@Example.ORG",
    "try..this@docomo.ne.jp": '"try..this"@docomo.ne.jp',
    ".ann@a.example": '".ann"@a.example',
    "ann.@ezweb.ne.jp": '"ann."@ezweb.ne.jp',
    "a[b]@a.example": '"a[b]"@a.example',
    '"ada"@example.org': "ada@example.org",
    '"ada l@home"@example.org': '"ada l@home"@example.org',
    r'"a\"b"@example.org': r'"a\"b"@example.org',
    "info@bücher.example": "info@xn--bcher-kva.example",
    "info@BÜCHER。example": "info@xn--bcher-kva.example",
    "ann@日本語.example": "ann@xn--wgv71a119e.example",
    "ann@a.example.": "ann@a.example",
    "ann@my_host.example": "ann@my_host.example",
    "ann@[192.0.2.7]": "ann@[192.0.2.7]",
    f"{'r' * 90}@reply.example": f"{'r' * 90}@reply.example",
}
REFUSED = {
    "": "such as",
    "nobody": "such as",
    "a b@example.org": "such as",
    "a@b@c.example": "such as",
    "a\x00b@example.org": "such as",
    '"a\x00b"@example.org': "such as",
    "jörg@example.org": "only ASCII",
    '"jörg"@example.org': "only ASCII",
    "ａｎｎ@example.org": "only ASCII",  # noqa: RUF001 - letters that look alike are what is tested
    "a@": "no domain",
    ".@.": "no domain",
    "ann@a..example": "no domain",
    "ann@a\r\nBcc: eve@b.example": "such as",
    "ann@ex\x7fample.org": "no domain",
    f"ann@{'x' * 64}.example": "no domain",
    f"ann@{'x.' * 200}example": "more than",
}


@pytest.mark.parametrize(("given_", "written"), WRITTEN.items())
def test_an_address_is_written_as_mail_servers_take_it(given_: str, written: str) -> None:
    assert writable_address(given_) == written
    assert writable_address(written) == written
    assert address_key(given_.strip()) == address_key(written)
    assert mailbox_parts(f"Ada <{given_}>") == ("Ada", written)


@pytest.mark.parametrize(("given_", "reason"), REFUSED.items())
def test_an_address_that_no_mail_can_be_sent_to_is_refused_with_the_reason(given_: str, reason: str) -> None:
    with pytest.raises(ValueError, match="is no address that mail can be sent to") as refusal:
        writable_address(given_)
    assert reason in str(refusal.value)


def test_what_somebody_types_is_refused_by_its_field() -> None:
    assert check_address("email", " Anna@Example.ORG ") == "Anna@Example.ORG"
    with pytest.raises(Invalid, match="owner: is no address"):
        check_address("owner", "an na@example.org")


LOCAL = st.text("abzABZ019.+-_!#$%&'*/=?^`{|}~[]", min_size=1, max_size=12)
LABEL = st.text(st.characters(categories=["Ll", "Lo", "Nd"]), min_size=1, max_size=10)


@given(LOCAL, st.lists(LABEL, min_size=1, max_size=3))
def test_what_the_reader_takes_can_be_written_and_is_read_as_the_same(local: str, labels: list[str]) -> None:
    given_ = f"{local}@{'.'.join([*labels, 'example'])}"
    for read in parse_addresses(f"Ann <{given_}>")[0]:
        try:
            written = writable_address(read.address)
        except ValueError:
            assert not given_.isascii()
            continue
        assert written.isascii()
        (again,) = parse_addresses(written)[0]
        assert again.key == read.key


SIGNS = [*"ab.'\"`<>()[]@:;, \u200b\u200e\u00ad\u201c❤ü", "[mailto:", "[IPv6:::1]", "x.org"]
JUNK = st.lists(st.sampled_from(SIGNS), max_size=24)


@given(JUNK.map("".join), st.sampled_from(["{}", "ada@x.org{}", "Ann <{}@x.org>", "{}@x.org, b@x.org"]))
def test_the_writer_writes_whatever_the_reader_gives(junk: str, way: str) -> None:
    for read in parse_addresses(way.format(junk))[0]:
        if read.is_writable:
            assert mailbox_parts(mailbox_text(read))[1] == writable_address(read.address)
        else:
            assert not read.local_part.isascii()


@given(st.text(max_size=400))
@example("0 .")
@example(" [@x.org")
@example("a@" + "b." * 200)
@example("<[@;" + " " * 400 + "x")
@example("\\" * 300 + "@x.org")
def test_every_text_has_a_bounded_key(text: str) -> None:
    assert len(address_key(text)) <= 320
    assert address_key(address_key(text)) == address_key(text) or not text.isascii()
