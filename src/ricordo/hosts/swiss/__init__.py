"""Serves a platform that speaks the Swiss AI Agent Protocol over NATS."""

from ricordo.hosts.swiss.counting import Counts
from ricordo.hosts.swiss.host import (
    AgentProtocol,
    Manner,
    wanted_for_recalling,
    wanted_for_storing,
)
from ricordo.hosts.swiss.identity import ANY, Identity, Trust
from ricordo.hosts.swiss.subject import Sort, Subject

__all__ = [
    "ANY",
    "AgentProtocol",
    "Counts",
    "Identity",
    "Manner",
    "Sort",
    "Subject",
    "Trust",
    "wanted_for_recalling",
    "wanted_for_storing",
]
