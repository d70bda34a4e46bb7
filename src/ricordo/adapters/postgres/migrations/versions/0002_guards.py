"""Step 0002: what 0002_guards.sql says."""

from alembic import op

from ricordo.adapters.postgres.schema import apply

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    apply(op.get_bind(), "0002_guards")
