"""Alembic's environment: one connection, one transaction for all that is missing."""

from alembic import context
from sqlalchemy import create_engine

engine = create_engine(context.config.attributes["url"])
try:
    with engine.connect() as connection:
        context.configure(connection=connection, target_metadata=None)
        with context.begin_transaction():
            context.run_migrations()
        connection.commit()
finally:
    engine.dispose()
