"""Alembic's environment: one connection, one transaction for all that is missing."""

from alembic import context

with context.config.attributes["engine"].connect() as connection:
    context.configure(connection=connection, target_metadata=None)
    with context.begin_transaction():
        context.run_migrations()
    connection.commit()
