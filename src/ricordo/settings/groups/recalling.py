"""How memories are recalled."""

from pydantic import Field

from ricordo.access import PreferenceVisibility
from ricordo.settings.group import Group


class Recalling(Group):
    """What a recall may show, and how long it may take."""

    preference_visibility: PreferenceVisibility = Field(
        default=PreferenceVisibility.AGENT,
        description="Who sees what an agent learned of the user's preferences: only that agent "
        "(`agent`), or every agent of the user (`user`).",
    )
    recall_limit: int = Field(
        default=10, ge=1, le=100, description="Most memories that one recall returns."
    )
    recall_tokens: int = Field(
        default=800, ge=50, le=100_000, description="Most tokens that recalled memories may take."
    )
    recall_deadline: float = Field(
        default=0.25,
        gt=0,
        le=60,
        description="Seconds after which a recall returns what it has, saying what is missing.",
    )
    recall_hops: int = Field(
        default=3, ge=0, le=8, description="Most steps that a recall walks in the graphs."
    )
