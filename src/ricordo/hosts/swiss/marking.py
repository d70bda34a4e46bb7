"""The mark of what came by the protocol: on the ids of its messages, where nobody else can put it.

Whoever stores a turn by another way chooses the ids of its messages. So the mark is sealed by the
ledger, for that person and run alone; copied to another run it says nothing.
"""

from dataclasses import replace

from ricordo.model import MAX_ID, Origin, Said, Turn, UserScope
from ricordo.ports import Ledger

_MARK = "agent-protocol"


async def marked(turn: Turn, *, scope: UserScope, event_id: str, ledger: Ledger) -> Turn:
    """The turn, its messages named by the event that they came with, under the mark."""
    mark = await _mark(
        scope, ledger, turn.agent, turn.thread_id, turn.display_id or "", turn.run_id
    )

    def named(number: int, said: Said) -> Said:
        end = f".{number}"
        return replace(said, id=f"{mark}{event_id}"[: MAX_ID - len(end)] + end)

    return replace(turn, said=tuple(named(n, said) for n, said in enumerate(turn.said)))


async def is_marked(origin: Origin, *, scope: UserScope, ledger: Ledger) -> bool:
    """Whether what was said there, by that person, came by the protocol."""
    if not any(name.startswith(f"{_MARK}.") for name in origin.message_ids):
        return False
    run = (origin.agent, origin.thread_id, origin.display_id, origin.run_id)
    mark = await _mark(scope, ledger, *(part or "" for part in run))
    return any(name.startswith(mark) for name in origin.message_ids)


async def _mark(scope: UserScope, ledger: Ledger, *run: str) -> str:
    # An id holds no control character, so these lines can be read in one way only.
    claim = "\n".join((_MARK, scope.tenant, scope.user, *run))
    [seal] = await ledger.seal([claim])
    return f"{_MARK}.{seal[:32]}."
