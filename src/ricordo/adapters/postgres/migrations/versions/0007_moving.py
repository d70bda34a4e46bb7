"""Step 0007: what 0007_moving.sql says."""

from alembic import op

from ricordo.adapters.postgres.schema import apply

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    apply(op.get_bind(), "0007_moving")
