"""What people and services may do with files."""
