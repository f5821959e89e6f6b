"""Anthropic's language models, with their quirks."""
