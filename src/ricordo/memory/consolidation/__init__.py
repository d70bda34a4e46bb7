"""Keeping one person's memory in order: a pass in the background, by rules, that can be undone."""

from ricordo.memory.consolidation.keeper import Habit, Keeper
from ricordo.memory.consolidation.report import Change, ConsolidationReport, Undone

__all__ = ["Change", "ConsolidationReport", "Habit", "Keeper", "Undone"]
