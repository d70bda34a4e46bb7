"""Step 0006: what 0006_fair.sql says."""

from alembic import op

from ricordo.adapters.postgres.schema import apply

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    apply(op.get_bind(), "0006_fair")
