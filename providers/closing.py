"""What every client of a vendor is: a context manager that closes its connections."""

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Has connections, which the end of a `with` block closes."""

    def __enter__(self) -> Self:
        """Give itself to the block."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Close the connections."""
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close the connections."""
