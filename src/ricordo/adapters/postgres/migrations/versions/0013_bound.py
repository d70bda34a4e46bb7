"""Step 0013: what 0013_bound.sql says."""

from alembic import op

from ricordo.adapters.postgres.schema import apply

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    apply(op.get_bind(), "0013_bound")
