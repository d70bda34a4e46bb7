"""How strongly a memory is held: from its use, recency, importance and confidence. Pure functions.

The sum of recency, importance and a third term with equal weights is that of Generative Agents
(Park et al. 2023), with confidence in the place of relevance, for nothing is asked here. Recency
fades by halves, and slower the more often a memory was used, as in MemoryBank (Zhong et al. 2023).
"""

import math
from datetime import datetime, timedelta

from ricordo.model import Memory, Status

HALF_LIFE = 90.0
"""Days after which the recency of a memory that was never recalled is one half."""

WEAK, FIRM = 0.55, 0.6
"""Below the first a memory is demoted; from the second on it is promoted again."""

LEAST_IDLE = timedelta(days=30)
"""Nothing that was said or used since then is demoted."""


def last_used(memory: Memory) -> datetime:
    """When it was last said or given to an agent."""
    times = [memory.recorded_at, *(origin.at for origin in memory.origins)]
    if memory.last_recalled_at is not None:
        times.append(memory.last_recalled_at)
    return max(times)


def strength(memory: Memory, *, at: datetime) -> float:
    """From 0 to 1: the mean of recency, importance and confidence."""
    idle = max((at - last_used(memory)).total_seconds(), 0.0) / 86_400
    recency = 0.5 ** (idle / (HALF_LIFE * (1 + math.log1p(memory.recalls))))
    return (recency + memory.importance + memory.confidence) / 3


def is_weak(memory: Memory, *, at: datetime) -> bool:
    """Whether it is to be demoted. Nothing is that is pinned, waits for a person, or was used."""
    if memory.status is not Status.ACTIVE or memory.pinned or memory.pending:
        return False
    idle = at - last_used(memory) >= LEAST_IDLE
    return memory.demoted_at is None and idle and strength(memory, at=at) < WEAK


def is_firm_again(memory: Memory, *, at: datetime) -> bool:
    """Whether a demoted memory is to rank as before."""
    if memory.status is not Status.ACTIVE or memory.demoted_at is None:
        return False
    return memory.pinned or strength(memory, at=at) >= FIRM
