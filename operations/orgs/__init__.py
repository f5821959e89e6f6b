"""What holds for an org: its people, its budget, by whom its mail leaves."""
