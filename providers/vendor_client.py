"""What every client of a vendor is: a context manager."""

from typing import Self


class VendorClient:
    """Used in a `with` block. Its connections are the process's, and stay (`providers/connections.py`)."""

    def __enter__(self) -> Self:
        """Give itself to the block."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Nothing is its own."""
