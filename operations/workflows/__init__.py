"""What people and services may do with workflows and their runs."""
