"""All settings as one object; each field's description is what the reference and `doctor` show."""

from typing import Self

from pydantic import model_validator
from pydantic_settings import SettingsConfigDict

from ricordo.settings.groups.answering import Answering
from ricordo.settings.groups.asker import Asker
from ricordo.settings.groups.conversations import Conversations
from ricordo.settings.groups.extracting import Extracting
from ricordo.settings.groups.judging import Judging
from ricordo.settings.groups.keeping import Keeping
from ricordo.settings.groups.models import Models
from ricordo.settings.groups.nats import Nats
from ricordo.settings.groups.place import Place
from ricordo.settings.groups.protocol import Protocol
from ricordo.settings.groups.recalling import Recalling
from ricordo.settings.groups.running import Running
from ricordo.settings.groups.views import Views

_PLATFORMS = "agent"
"""First token of the subjects of a platform that is served."""


# The last group first: fields are read, listed and checked from the last class to the first.
class Settings(
    Protocol,
    Answering,
    Keeping,
    Nats,
    Views,
    Conversations,
    Running,
    Judging,
    Extracting,
    Recalling,
    Models,
    Asker,
    Place,
):
    """Everything that can be set. Constructing it reads no file and no environment.

    `load_settings` is what reads them. Raises pydantic's `ValidationError` (a `ValueError`) for a
    value that is not allowed.
    """

    model_config = SettingsConfigDict(defer_build=False)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        self._check_embedding()
        if self.search_in_database_from is not None and self.vector_view is not None:
            raise ValueError(
                "search_in_database_from and vector_view both say where large partitions are "
                "searched; unset one of them"
            )
        self._check_shape()
        self._check_nats()
        if self.protocol is not None and self.nats_url is None:
            raise ValueError("protocol needs nats_url, the server where the platform is")
        if self.protocol is not None and self.nats_prefix == _PLATFORMS:
            raise ValueError(
                f"nats_prefix is {_PLATFORMS!r}, by which the platform's own subjects begin; set "
                "another one"
            )
        return self
