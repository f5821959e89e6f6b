"""Alembic's environment: one connection, one transaction for all that is missing."""

from alembic import context
from sqlalchemy import create_engine, text

from storage.postgres.migration_waits import MIGRATING, lift_time_limits

engine = create_engine(context.config.attributes["url"])
try:
    with engine.connect() as connection:
        connection.execute(text("select set_config('application_name', :name, false)"), {"name": MIGRATING})
        lift_time_limits(connection)
        connection.commit()
        context.configure(connection=connection, target_metadata=None)
        with context.begin_transaction():
            context.run_migrations()
        connection.commit()
finally:
    engine.dispose()
