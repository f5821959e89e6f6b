"""A number in memory that a process shares with the children it forks."""

import mmap
import struct

DOUBLE = struct.Struct("d")


class SharedDouble:
    """One number that the process and all children forked from it read and write; written whole."""

    def __init__(self, value: float = 0.0) -> None:
        """Make the memory."""
        self._page = mmap.mmap(-1, DOUBLE.size)
        self.value = value

    @property
    def value(self) -> float:
        """What any of the processes wrote last."""
        value: float = DOUBLE.unpack_from(self._page)[0]
        return value

    @value.setter
    def value(self, value: float) -> None:
        self._page[:] = DOUBLE.pack(value)
