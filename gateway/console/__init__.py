"""The operators' console: pages for people who have signed in."""
