"""Step 0011: what 0011_readers.sql says."""

from alembic import op

from ricordo.adapters.postgres.schema import apply

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    apply(op.get_bind(), "0011_readers")
