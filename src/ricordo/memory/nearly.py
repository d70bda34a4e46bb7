"""What nearly made it into a recollection, and what kept it out. Pure functions.

Only ever of what the asker may see: what they may not, is not even told to be there.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from ricordo.memory import ranking
from ricordo.model import Cut, Memory, Missed, Recalled, Status


def why_not(memory: Memory, *, at: datetime, past: bool) -> Cut | None:
    """What keeps a visible memory out of every answer at that instant; None when nothing does.

    Args:
        past: the question asks what was true then, and not what is true now.
    """
    if memory.merged_into is not None:
        return Cut.DUPLICATE  # the one that stands for it is found
    if memory.status is Status.SUPERSEDED and not past:
        return Cut.SUPERSEDED
    if memory.status not in (Status.ACTIVE, Status.SUPERSEDED):
        return Cut.NOT_APPROVED
    # For now what is stated counts, not when it was noted: clocks differ, and are set back.
    since = _since_when(memory) if past else memory.valid_from
    if since is not None and since > at:
        return Cut.NOT_VALID
    if memory.valid_until is not None and memory.valid_until <= at:
        return Cut.NOT_VALID
    if not memory.pinned and memory.expires_at is not None and memory.expires_at <= at:
        return Cut.EXPIRED
    return None


def nearly(
    recalled: Sequence[Recalled],
    *,
    given: Sequence[Recalled],
    distinct: Sequence[Recalled],
    alike: Mapping[tuple[str, str], float],
    withheld: Sequence[tuple[Recalled, Cut]],
    most: int,
) -> tuple[Missed, ...]:
    """The best that were not given, each with its reason.

    Args:
        recalled: all that could be given, in order.
        distinct: those of them that were left when the limit was reached.
        withheld: what was found as well, and cannot be given now.
    """
    ids = {item.memory.id for item in given}
    rest = [item for item in recalled if item.memory.id not in ids][:most]
    missed = [_missed(item, distinct, alike) for item in rest]
    missed += [
        Missed(memory=item.memory, score=item.score, signals=item.signals, cut=cut)
        for item, cut in withheld
    ]
    return tuple(sorted(missed, key=lambda item: (-item.score, item.memory.id))[:most])


def _missed(
    item: Recalled, distinct: Sequence[Recalled], alike: Mapping[tuple[str, str], float]
) -> Missed:
    twin: Recalled | None = None
    if any(other.memory.id == item.memory.id for other in distinct):
        cut = Cut.TOKENS
    else:
        twin = next((other for other in distinct if ranking.same(item, other, alike)), None)
        cut = Cut.LIMIT if twin is None else Cut.DUPLICATE
    return Missed(
        memory=item.memory,
        score=item.score,
        signals=item.signals,
        cut=cut,
        of=None if twin is None else twin.memory.id,
    )


def _since_when(memory: Memory) -> datetime:
    """From when a memory is known to be true: as stated, or else since it was first said."""
    if memory.valid_from is not None:
        return memory.valid_from
    return min((memory.recorded_at, *(origin.at for origin in memory.origins)))
