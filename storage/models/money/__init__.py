"""The SQL of money: budgets, reservations, paid model calls."""
