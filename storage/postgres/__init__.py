"""PostgreSQL itself: connections, transactions, statements, migrations, readiness."""
