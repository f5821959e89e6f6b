"""The emulator of Firebase Cloud Messaging: tokens of a service account, devices, messages."""
