"""Step 0010: what 0010_traces.sql says."""

from alembic import op

from ricordo.adapters.postgres.schema import apply

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    apply(op.get_bind(), "0010_traces")
