"""Step 0003: what 0003_consolidation.sql says."""

from alembic import op

from ricordo.adapters.postgres.schema import apply

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    apply(op.get_bind(), "0003_consolidation")
