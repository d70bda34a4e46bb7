"""Step 0012: what 0012_readers.sql says."""

from alembic import op

from ricordo.adapters.postgres.schema import apply

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    apply(op.get_bind(), "0012_readers")
