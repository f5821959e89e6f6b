"""Links that prove who has them: signed for what they name, and stored nowhere."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable

PURPOSE = "link:"
"""Signed with it, so that no signature made for something else is one of a link."""
_HEX = re.compile(r"(?:[0-9a-f]{2}){1,32}")

Sign = Callable[[bytes], bytes]
IsSigned = Callable[[bytes, bytes], bool]


class SignedLink(ABC):
    """What a link is signed for. Its route is signed with the rest: a signature of one kind is none of another."""

    __slots__ = ()

    @property
    @abstractmethod
    def target(self) -> str:
        """The path and the query, without the signature."""

    @property
    def unsaid(self) -> str:
        """What is signed, too, and is not in the link: a reader looks it up."""
        return ""

    def address(self, public_url: str, sign: Sign) -> str:
        """The link as browsers take it. What proves it is in the query, which no log of requests keeps."""
        # In hexadecimal digits: one in 200,000 written in base64 looks like a key of a vendor's, and would be hidden.
        return f"{public_url}{self.target}&sig={sign(self._message()).hex()}"

    def is_signed_by(self, signature: str, is_signed: IsSigned) -> bool:
        """Whether the signature, as the link has it, is this link's."""
        return bool(_HEX.fullmatch(signature)) and is_signed(self._message(), bytes.fromhex(signature))

    def _message(self) -> bytes:
        return f"{PURPOSE}{self.target} {self.unsaid}".encode()
