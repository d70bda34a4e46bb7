"""What a ledger holds, counted: numbers and no ids."""

from dataclasses import dataclass, field

from ricordo.model.kinds import Kind, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Memories of one cell of the house and one status.

    Args:
        of: ``"user"`` or ``"organization"``.
    """

    of: str
    kind: Kind
    status: Status
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """How large a ledger is, in bytes.

    Args:
        file: the ledger itself, without its log.
        log: written and not yet moved into the file.
        free: inside the file, to be used again.
    """

    file: int
    log: int
    free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """How much of a ledger is one scope's own, in bytes.

    Args:
        texts: of its memories.
        index: what they are found by: vectors and words.
    """

    texts: int
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """What a ledger holds, of one scope or of all.

    Args:
        cells: memories by cell and status; none of a cell is left out.
        partitions: those that something can be found in.
        largest: memories that can be found in the largest partition.
        events: announced and kept.
        behind: by consumer, events that it has yet to acknowledge; of all scopes only.
        storage: of all scopes only, for it tells of others.
        own: of one scope only.
    """

    cells: tuple[Cell, ...] = ()
    partitions: int = 0
    largest: int = 0
    events: int = 0
    behind: dict[str, int] = field(default_factory=dict[str, int])
    storage: Storage | None = None
    own: Own | None = None
