"""The schema, step by step; files are named pre (safe before a deploy) or post (only after)."""
