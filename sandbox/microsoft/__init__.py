"""The emulator of Microsoft Graph and its login server: drafts, Sent Items, uploads, tokens."""
