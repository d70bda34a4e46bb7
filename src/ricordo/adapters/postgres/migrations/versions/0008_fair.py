"""Step 0008: what 0008_fair.sql says."""

from alembic import op

from ricordo.adapters.postgres.schema import apply

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    apply(op.get_bind(), "0008_fair")
