"""Step 0005: what 0005_moving.sql says."""

from alembic import op

from ricordo.adapters.postgres.schema import apply

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    apply(op.get_bind(), "0005_moving")
