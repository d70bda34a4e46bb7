"""Step 0001: what 0001_ledger.sql says."""

from alembic import op

from ricordo.adapters.postgres.schema import apply

revision = "0001"
down_revision = None


def upgrade() -> None:
    apply(op.get_bind(), "0001_ledger")
