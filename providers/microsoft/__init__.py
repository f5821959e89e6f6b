"""Microsoft Graph, by which mail is sent from a mailbox of Exchange Online, with its quirks."""
