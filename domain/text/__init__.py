"""Text that is safe to keep and to show."""
