"""The operators' command line: sub-commands of `celery -A tasks`, and `postroom`, which is the same.

This module imports nothing: Celery loads its plugins, and ours with them, in the command line of every app.
"""
