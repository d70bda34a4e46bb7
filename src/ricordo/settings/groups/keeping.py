"""How long the ledger keeps what is no memory."""

from pydantic import Field

from ricordo.settings.group import Group


class Keeping(Group):
    """Days for turns that were read, for the audit and for events."""

    turns_keep_days: float = Field(
        default=90.0,
        gt=0,
        le=36_500,
        description="Days after which the ids of a turn that was read leave the queue; until then "
        "the same turn, delivered again, changes nothing.",
    )
    audit_keep_days: float = Field(
        default=730.0,
        gt=0,
        le=36_500,
        description="Days after which a note of who did what leaves the audit.",
    )
    events_keep_days: float = Field(
        default=30.0,
        gt=0,
        le=36_500,
        description="Days after which an event leaves the ledger's outbox, once every known "
        "consumer has acknowledged it.",
    )
