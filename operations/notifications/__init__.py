"""What people and services may list and do about words to people: notifications, and mail by a vendor."""
