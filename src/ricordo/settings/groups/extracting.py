"""How turns become memories."""

from pydantic import Field

from ricordo.settings.group import Group


class Extracting(Group):
    """Who extracts, in which batches, and what happens when that fails."""

    worker: bool = Field(
        default=True,
        description="Extract in this process when a model is configured; otherwise `ricordo "
        "worker` does it.",
    )
    batch_size: int = Field(
        default=8, ge=1, le=64, description="Turns that share one call of the model."
    )
    batch_wait: float = Field(
        default=30.0,
        ge=0,
        le=3600,
        description="Seconds that a turn waits at most for others to share the call. Less is known "
        "sooner in other sessions, and costs more calls: at a typed pace of a turn each 40 s about "
        "one a turn with 30, 0.2 with 180.",
    )
    batch_tokens: int = Field(
        default=4_000,
        ge=500,
        le=1_000_000,
        description="Most tokens of turns in one call; longer input is cut at a sentence's end.",
    )
    max_attempts: int = Field(
        default=5,
        ge=1,
        le=100,
        description="Attempts at a batch before it goes to the dead letters.",
    )
    retry_seconds: float = Field(
        default=2.0,
        gt=0,
        le=3600,
        description="Seconds before the second attempt; doubled for each further one, at most an "
        "hour.",
    )
    model_concurrency: int = Field(
        default=4, ge=1, le=256, description="Calls of the model in flight in one worker."
    )
    lease_seconds: float = Field(
        default=30.0,
        ge=10,
        le=86_400,
        description="Seconds after which another worker takes over the batch of one that died. A "
        "worker that lives keeps its batch while the model is asked, for at most five times "
        "`model_timeout`.",
    )
    drain_seconds: float = Field(
        default=20.0,
        ge=0,
        le=3600,
        description="Seconds in which a worker that is told to end may finish what it has begun; "
        "the rest is given back.",
    )
