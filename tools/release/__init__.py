"""A release from the commit, the same files each time: `make release`."""
