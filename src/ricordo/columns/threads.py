"""Where a memory stands in its conversation, as numbers beside its index row."""

from hashlib import blake2b

from ricordo.columns.times import micros
from ricordo.model import Memory


def thread_number(thread_id: str | None) -> int:
    """A number that stands for a thread in one scope; 0 without a thread."""
    if thread_id is None:
        return 0
    raw = blake2b(thread_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(raw, "little", signed=True) or 1


def standing(memory: Memory) -> tuple[int, int, int]:
    """Thread, when it was said, when it was recorded; by the memory's first origin."""
    recorded = micros(memory.recorded_at)
    if not memory.origins:
        return 0, recorded, recorded
    first = memory.origins[0]
    return thread_number(first.thread_id), micros(first.at), recorded
