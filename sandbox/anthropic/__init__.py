"""The Anthropic emulator with its scripted model."""
