"""What people and services may do about approvals and effects in doubt."""
