"""What people and services may do about language models, their budgets and agents."""
