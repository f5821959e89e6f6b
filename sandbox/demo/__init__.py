"""The demo: a mailbox of real mail on the whole fleet."""
