"""What every group of settings is made of."""

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict


class Group(BaseSettings):
    """Some settings that belong together. Constructing it reads no file and no environment."""

    model_config = SettingsConfigDict(
        # Nobody asks a group alone: only the whole is worth the time of being made ready.
        defer_build=True,
        env_prefix="RICORDO_",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,  # it may hold secrets
        protected_namespaces=(),
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what the constructor is given: an embedding program sees no surprises."""
        return (init_settings,)
