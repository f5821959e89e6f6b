"""The SQL of mail that leaves: what was ordered, how far it got, and who got an automatic answer."""
