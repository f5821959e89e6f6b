"""The SQL of language models, their budgets and agents."""
