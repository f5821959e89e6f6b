"""The emulator of S3: objects under names, put if absent, ranges, lists, deletions; signatures are looked at."""
