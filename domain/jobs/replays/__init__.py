"""Jobs that are done again: what changes in a payload, which jobs a filter matches, what a replay would do."""
