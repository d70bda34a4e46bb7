"""Where Alembic begins: on the connection, and inside the transaction, that it is given."""

from alembic import context

from ricordo.adapters.postgres.address import SCHEMA

context.configure(
    connection=context.config.attributes["connection"],
    version_table_schema=SCHEMA,
)
with context.begin_transaction():
    context.run_migrations()
