"""Typst, which sets type (https://typst.app)."""
