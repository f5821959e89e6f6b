"""Consent by browser: the pages that an owner of a mailbox sees, and what happens between them."""
