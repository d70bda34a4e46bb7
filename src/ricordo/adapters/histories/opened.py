"""What opening one of the framework's histories gives."""

from dataclasses import dataclass

from agent_framework import HistoryProvider

from ricordo.ports import Outside


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """One of the framework's histories, and the way to empty it of a person."""

    provider: HistoryProvider
    outside: Outside
