"""The rules of language models, their budgets and agents."""
