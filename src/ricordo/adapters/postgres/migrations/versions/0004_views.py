"""Step 0004: what 0004_views.sql says."""

from alembic import op

from ricordo.adapters.postgres.schema import apply

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    apply(op.get_bind(), "0004_views")
