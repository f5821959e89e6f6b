"""What waits for a person over all orgs, in numbers."""

from typing import NamedTuple

from storage.postgres.database import Transaction


class Attention(NamedTuple):
    """How many things wait, each counted up to a bound."""

    letters: int
    doubts: int
    approvals: int
    gates: int


def count(tx: Transaction, *, most: int) -> Attention:
    """Count what waits, of each kind at most so many, in one statement that reads partial indexes."""
    (row,) = tx.run("count_attention", most=most)
    return Attention(row.letters, row.doubts, row.approvals, row.gates)
