"""Moving a memory as a whole from one ledger into another, empty one."""

from ricordo.memory.moving.comparing import Difference, Sum
from ricordo.memory.moving.migration import Migration, Outcome
from ricordo.memory.moving.planning import Plan

__all__ = ["Difference", "Migration", "Outcome", "Plan", "Sum"]
