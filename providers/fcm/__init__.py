"""Firebase Cloud Messaging: messages to devices."""
