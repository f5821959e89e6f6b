"""The Gmail emulator."""
