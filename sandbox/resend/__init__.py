"""The emulator of Resend: mails under keys, three quotas, and signed callbacks."""
