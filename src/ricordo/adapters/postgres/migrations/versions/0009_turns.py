"""Step 0009: what 0009_turns.sql says."""

from alembic import op

from ricordo.adapters.postgres.schema import apply

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    apply(op.get_bind(), "0009_turns")
